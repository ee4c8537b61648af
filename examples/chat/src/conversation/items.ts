import { useChatInstance, useMessageIds, useSelector } from '@millrace/react'
import { useMemo } from 'react'

/** Something that has a place in the conversation. */
export interface Item {
  readonly kind: 'message' | 'structured' | 'question'
  readonly id: string
  readonly at: number
}

/** Messages, objects and answered questions in the order in which they began; another array only when one comes or goes. */
export function useItems(): readonly Item[] {
  const { store } = useChatInstance()
  const messageIds = useMessageIds()
  const structuredIds = useSelector(({ store }) => store.structuredIds)
  const interrupts = useSelector(({ store }) => store.ledger.interrupts)
  return useMemo(() => {
    const messages = messageIds.flatMap((id): Item[] => {
      const message = store.message(id)
      // What a sub-agent says stands with the call that it works for.
      return message === undefined || message.parent ? [] : [{ kind: 'message', id, at: message.at }]
    })
    const objects = structuredIds.map((id): Item => ({ kind: 'structured', id, at: store.structured(id)?.at ?? 0 }))
    const questions = interrupts
      .filter(({ status }) => status === 'answered')
      .map(({ interruptId: id, at }): Item => ({ kind: 'question', id, at }))
    // Messages are in order already, whatever their place; the others come in where they began.
    const others = [...objects, ...questions].sort((a, b) => a.at - b.at)
    return messages.flatMap((message, i) => {
      const from = message.at
      const to = messages[i + 1]?.at ?? Number.POSITIVE_INFINITY
      const isFirst = i === 0
      return [message, ...others.filter(({ at }) => at < to && (at >= from || isFirst))]
    })
  }, [store, messageIds, structuredIds, interrupts])
}
