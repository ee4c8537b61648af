import type { SessionLog } from '@millrace/client/log'
import { useLogState } from '@millrace/react/log'
import { useCallback, useSyncExternalStore } from 'react'
import { useChatOfPage } from '../callbacks/calls.ts'
import { useTravel } from '../travel/travel.ts'
import type { Discrepancy } from './discrepancy.ts'
import type { Read } from './reading.ts'
import { readingOf, verificationOf } from './standing.ts'
import type { Verified } from './verification.ts'
import { sequencesOf } from './words.ts'

/** How what a log holds compares with that of the server: renders again when that changes. */
export function useVerified(log: SessionLog): Verified {
  const verification = verificationOf(log)
  const subscribe = useCallback((listener: () => void) => verification.subscribe(listener), [verification])
  const read = () => verification.state
  return useSyncExternalStore(subscribe, read, read)
}

/** How what the chat beside shows compares with its log; nothing, where there is none. */
export function useRead(log: SessionLog): Read | undefined {
  const reading = readingOf(log, useChatOfPage())
  const subscribe = useCallback((listener: () => void) => reading?.subscribe(listener) ?? (() => {}), [reading])
  const read = () => reading?.state
  return useSyncExternalStore(subscribe, read, read)
}

/** What was lost and what came twice: nothing, as long as all is well. */
export function Verdict({ log }: { readonly log: SessionLog }) {
  const { upTo, count, lost, differing, error } = useVerified(log)
  const { head, repeated } = useLogState(log)
  const read = useRead(log)
  const [lostThere, differingThere] = (['lost', 'differing'] as const).map(
    kind => read?.found.filter(one => one.kind === kind) ?? [],
  ) as [Discrepancy[], Discrepancy[]]
  const isBad = lost.length + differing.length + repeated + (read?.found.length ?? 0) > 0
  return (
    <section className="verdict" data-bad={isBad} aria-label="What was lost">
      <dl>
        <Counter name="lost" value={lost.length + lostThere.length} />
        <Counter name="repeated" value={repeated} />
        <Counter name="differing" value={differing.length + differingThere.length} />
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
      </div>
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
      <Otherwise words="Words are missing in the chat" found={lostThere} />
      <Otherwise words="The chat says otherwise" found={differingThere} />
      <details className="counted">
        <summary>
          {count.toLocaleString('en')} {count === 1 ? 'entry' : 'entries'}
          {read && ` and ${read.count.toLocaleString('en')} ${read.count === 1 ? 'message' : 'messages'}`} compared
          {error !== undefined && `; the last time failed: ${error} It is tried again.`}
        </summary>
        <dl>
          <dt>lost</dt>
          <dd>
            Entries of the log that this tab does not hold, as the server reads it anew by a request that no fault
            touches{read && '; and messages of the chat beside that miss words which the log has'}.
          </dd>
          <dt>repeated</dt>
          <dd>
            Entries that this page was given twice. What comes twice on the wire the connection refuses before that.
          </dd>
          <dt>differing</dt>
          <dd>Entries{read && ' and messages'} that say something else than the log.</dd>
        </dl>
      </details>
    </section>
  )
}

/** So many messages at most are named. */
const MOST = 5

/** Messages of the chat that are not as the log has them. */
function Otherwise({ words, found }: { readonly words: string; readonly found: readonly Discrepancy[] }) {
  const { travel } = useTravel()
  if (found.length === 0) return null
  return (
    <p className="bad" role="alert">
      {words}:{' '}
      {found.slice(0, MOST).map(({ id, at, gist }, i) => (
        <span key={id}>
          {i > 0 && ', '}
          {gist}, from{' '}
          <button type="button" className="plain" onClick={() => travel(at)}>
            {at}
          </button>
        </span>
      ))}
      {found.length > MOST && ` and ${found.length - MOST} more`}
    </p>
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
