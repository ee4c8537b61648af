import type { MessageOf, PartOf } from '@millrace/client'
import { useTopic } from './use-topic.ts'

/** The ids of the messages, in order: renders again when one comes, goes or moves, and not when one grows. */
export const useMessageIds = (): readonly string[] => useTopic(['order'], ({ store }) => store.messageIds)

/** A message: renders again when it changes, at most once a frame. */
export const useMessage = <A = unknown>(id: string): MessageOf<A> | undefined =>
  useTopic(['message', id], ({ store }) => store.message(id) as MessageOf<A> | undefined)

/** One part of a message: renders again when just that changes. */
export const usePart = <A = unknown>(messageId: string, key: string): PartOf<A> | undefined =>
  useTopic(['part', messageId, key], ({ store }) => store.part(messageId, key) as PartOf<A> | undefined)
