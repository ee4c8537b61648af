import { useChatInstance, useMessageIds, useSelector } from '@millrace/react'
import { useMemo } from 'react'

/** An item shown between the parts of an agent's message. */
export interface InlineItem {
  readonly kind: 'structured' | 'question'
  readonly id: string
  readonly at: number
}

/** A message, and the items that arrived while it streamed. */
export interface Turn {
  readonly id: string
  readonly inlineItems: readonly InlineItem[]
}

const NO_ITEMS: readonly InlineItem[] = []

/** Messages in order, each with the structured objects and answered questions of its run. The array changes only when an item is added or removed. */
export function useTurns(): readonly Turn[] {
  const { store } = useChatInstance()
  const messageIds = useMessageIds()
  const structuredIds = useSelector(({ store }) => store.structuredIds)
  const interrupts = useSelector(({ store }) => store.ledger.interrupts)
  return useMemo(() => {
    // A message of a sub-agent is shown inside its tool call.
    const messages = messageIds.flatMap(id => store.message(id) ?? []).filter(({ parent }) => !parent)
    const byMessage = new Map<string, InlineItem[]>()
    const add = (messageId: string | undefined, item: InlineItem) => {
      if (messageId !== undefined) byMessage.set(messageId, [...(byMessage.get(messageId) ?? []), item])
    }
    for (const { interruptId: id, at, status, runId } of interrupts) {
      // A run that was rewound or is not loaded has no message to attach its questions to.
      const owner = messages.find(message => message.runId === runId)
      if (status === 'answered') add(owner?.id, { kind: 'question', id, at })
    }
    for (const id of structuredIds) {
      const at = store.structured(id)?.at ?? 0
      const owner = messages.findLast(message => message.runId !== undefined && message.at <= at)
      add(owner?.id, { kind: 'structured', id, at })
    }
    return messages.map(({ id }) => ({ id, inlineItems: byMessage.get(id)?.sort((a, b) => a.at - b.at) ?? NO_ITEMS }))
  }, [store, messageIds, structuredIds, interrupts])
}
