import { useChat, useSelector } from '@millrace/react'
import { useEffect, useRef } from 'react'
import { type Item, useItems } from './items.ts'
import { Message } from './message.tsx'
import { Outcome } from './outcome.tsx'
import { Question } from './question.tsx'
import { SharedState } from './shared-state.tsx'
import { useStickToEnd } from './stick.ts'
import { Structured } from './structured.tsx'

/** All that was said, the latest in sight. */
export function Transcript() {
  const items = useItems()
  const { hasOlder, isLoadingOlder, loadOlder } = useChat()
  const lastMessage = items.findLast(({ kind }) => kind === 'message')?.id
  const pane = useRef<HTMLElement>(null)
  const { isAtEnd, toEnd, keepPlace } = useStickToEnd(pane)
  const firstId = items[0]?.id
  // biome-ignore lint/correctness/useExhaustiveDependencies: older ones have come when the first is another
  useEffect(keepPlace, [firstId])
  return (
    <section className="transcript" aria-label="Conversation" ref={pane}>
      <div className="sheet">
        {hasOlder && (
          <button
            type="button"
            className="older"
            disabled={isLoadingOlder}
            onClick={() => {
              keepPlace.remember()
              void loadOlder()
            }}
          >
            {isLoadingOlder ? 'Loading…' : 'Show older messages'}
          </button>
        )}
        {items.map(item => (
          <OneItem key={`${item.kind} ${item.id}`} item={item} isLast={item.id === lastMessage} />
        ))}
        <Outcome />
        <SharedState />
        <Working />
      </div>
      {!isAtEnd && (
        <button type="button" className="to-end" aria-label="To the latest" onClick={toEnd}>
          ↓
        </button>
      )}
    </section>
  )
}

function OneItem({ item: { kind, id }, isLast }: { readonly item: Item; readonly isLast: boolean }) {
  if (kind === 'structured') return <Structured id={id} />
  return kind === 'question' ? <Question id={id} /> : <Message id={id} isLast={isLast} />
}

/** Says that something is under way, and what, as far as the run tells. */
function Working() {
  const status = useSelector(({ state }) => state.status)
  const note = useSelector(({ store }) => store.ledger.runs.at(-1)?.note)
  const isWorking = status === 'submitted' || status === 'streaming'
  return (
    <p className="working" role="status" data-status={status}>
      {isWorking && <span className="pulse" />}
      {isWorking && (note ?? '')}
    </p>
  )
}
