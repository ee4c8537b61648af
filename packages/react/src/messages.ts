import type { Message, Part } from '@millrace/client'
import { useTopic } from './read.ts'

/** The ids of the messages, in order: renders again when one comes, goes or moves, and not when one grows. */
export const useMessageIds = (): readonly string[] => useTopic(['order'], ({ store }) => store.messageIds)

/** A message: renders again when it changes, at most once a frame. */
export const useMessage = (id: string): Message | undefined =>
  useTopic(['message', id], ({ store }) => store.message(id))

/** One part of a message: renders again when just that changes. */
export const usePart = (messageId: string, key: string): Part | undefined =>
  useTopic(['part', messageId, key], ({ store }) => store.part(messageId, key))
