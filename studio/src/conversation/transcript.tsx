import { useChat } from '@millrace/react'
import { useLayoutEffect, useRef } from 'react'
import { Message } from './message.tsx'
import { Outcome } from './outcome.tsx'
import { SharedState } from './shared-state.tsx'
import { useStickToEnd } from './stick.ts'
import { useTurns } from './turns.ts'
import { Working } from './working.tsx'

/** All that was said, the latest in sight. */
export function Transcript() {
  const turns = useTurns()
  const { hasOlder, isLoadingOlder, loadOlder } = useChat()
  const lastId = turns.at(-1)?.id
  const pane = useRef<HTMLElement>(null)
  const older = () => {
    if (!hasOlder || isLoadingOlder) return
    keepPlace.remember()
    void loadOlder()
  }
  const { isAtEnd, toEnd, keepPlace } = useStickToEnd(pane, older)
  const firstId = turns[0]?.id
  // biome-ignore lint/correctness/useExhaustiveDependencies: older ones have come when the first is another
  useLayoutEffect(keepPlace, [firstId])
  return (
    <section className="transcript" aria-label="Conversation" ref={pane}>
      <div className="sheet">
        {hasOlder && (
          <button type="button" className="older" disabled={isLoadingOlder} onClick={older}>
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
