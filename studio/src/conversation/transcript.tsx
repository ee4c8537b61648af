import { useChat, useConnection, useSelector } from '@millrace/react'
import { useEffect, useRef } from 'react'
import { Message } from './message.tsx'
import { Outcome } from './outcome.tsx'
import { SharedState } from './shared-state.tsx'
import { useStickToEnd } from './stick.ts'
import { useTurns } from './turns.ts'

/** All that was said, the latest in sight. */
export function Transcript() {
  const turns = useTurns()
  const { hasOlder, isLoadingOlder, loadOlder } = useChat()
  const lastId = turns.at(-1)?.id
  const pane = useRef<HTMLElement>(null)
  const { isAtEnd, toEnd, keepPlace } = useStickToEnd(pane)
  const firstId = turns[0]?.id
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
        {turns.map(({ id, between }) => (
          <Message key={id} id={id} between={between} isLast={id === lastId} />
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

/** Says that something is under way, and what, as far as the run tells. */
function Working() {
  const status = useSelector(({ state }) => state.status)
  const note = useSelector(({ store }) => store.ledger.runs.at(-1)?.note)
  // What a server does that is away nobody knows here.
  const isAway = useConnection().status === 'offline'
  const isWorking = !isAway && (status === 'submitted' || status === 'streaming')
  return (
    <p className="working" role="status" data-status={status}>
      {isWorking && <span className="pulse" />}
      {isWorking && (note ?? '')}
    </p>
  )
}
