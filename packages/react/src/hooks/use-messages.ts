import type { MessageOf, PartOf } from '@millrace/client'
import { useTopic } from './use-topic.ts'

/**
 * The ids of the messages, in order. Rerenders when the list changes, but not when a message grows.
 * @throws an `Error` without a provider.
 */
export const useMessageIds = (): readonly string[] => useTopic(['order'], ({ store }) => store.messageIds)

/**
 * A message. Rerenders when it changes, at most once per frame.
 * @throws an `Error` without a provider.
 */
export const useMessage = <A = unknown>(id: string): MessageOf<A> | undefined =>
  useTopic(['message', id], ({ store }) => store.message(id) as MessageOf<A> | undefined)

/**
 * A part of a message. Rerenders only when this part changes.
 * @throws an `Error` without a provider.
 */
export const usePart = <A = unknown>(messageId: string, key: string): PartOf<A> | undefined =>
  useTopic(['part', messageId, key], ({ store }) => store.part(messageId, key) as PartOf<A> | undefined)
