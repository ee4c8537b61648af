import type { SessionLog } from '@millrace/client/log'
import { useLogState } from '@millrace/react/log'
import { useCallback, useSyncExternalStore } from 'react'
import { verificationOf } from './standing.ts'
import type { Verified } from './verification.ts'
import { sequencesOf } from './words.ts'

/** How what a log holds compares with that of the server: renders again when that changes. */
export function useVerified(log: SessionLog): Verified {
  const verification = verificationOf(log)
  const subscribe = useCallback((listener: () => void) => verification.subscribe(listener), [verification])
  const read = () => verification.state
  return useSyncExternalStore(subscribe, read, read)
}

/** What was lost and what came twice: nothing, as long as all is well. */
export function Verdict({ log }: { readonly log: SessionLog }) {
  const { upTo, count, lost, differing, error } = useVerified(log)
  const { head, repeated } = useLogState(log)
  const isBad = lost.length + differing.length + repeated > 0
  return (
    <section className="verdict" data-bad={isBad} aria-label="What was lost">
      <dl>
        <Counter name="lost" value={lost.length} />
        <Counter name="repeated" value={repeated} />
        <Counter name="differing" value={differing.length} />
      </dl>
      <div className="verified">
        <p>
          Verified up to <strong>{upTo.toLocaleString('en')}</strong> of {head.toLocaleString('en')}
          {!isBad && upTo >= head && head > 0 && (
            <span className="tick" aria-hidden="true">
              ✓
            </span>
          )}
        </p>
        <progress max={Math.max(1, head)} value={upTo} aria-label="How far it is verified" />
        <p className="quiet">
          {count.toLocaleString('en')} entries that this tab holds, each against the log as the server reads it anew, by
          a request that no fault touches.
          {error !== undefined && ` The last one failed: ${error} It is tried again.`}
        </p>
        {lost.length > 0 && (
          <p className="bad" role="alert">
            Lost: {sequencesOf(lost)}
          </p>
        )}
        {differing.length > 0 && (
          <p className="bad" role="alert">
            Differing: {sequencesOf(differing)}
          </p>
        )}
      </div>
    </section>
  )
}

function Counter({ name, value }: { readonly name: string; readonly value: number }) {
  return (
    <div className="counter" data-bad={value > 0}>
      <dt>{name}</dt>
      <dd data-counter={name}>{value.toLocaleString('en')}</dd>
    </div>
  )
}
