import type { SessionLog } from '@millrace/client/log'
import { useLogState } from '@millrace/react/log'
import { useCallback, useSyncExternalStore } from 'react'
import { useChatOfPage } from '../callbacks/calls.ts'
import { useTravel } from '../travel/travel.ts'
import type { VerifiedChat } from './chat-verification.ts'
import type { Discrepancy } from './discrepancy.ts'
import { chatVerificationOf, verificationOf } from './fault-monitor.ts'
import { formatSequences } from './format-fault.ts'
import type { Verified } from './verification.ts'

/** The verification of a log. Renders again when it changes. */
export function useVerified(log: SessionLog): Verified {
  const verification = verificationOf(log)
  const subscribe = useCallback((listener: () => void) => verification.subscribe(listener), [verification])
  const read = () => verification.state
  return useSyncExternalStore(subscribe, read, read)
}

/** The verification of the chat beside the inspector; undefined without one. */
export function useVerifiedChat(log: SessionLog): VerifiedChat | undefined {
  const chatVerification = chatVerificationOf(log, useChatOfPage())
  const subscribe = useCallback(
    (listener: () => void) => chatVerification?.subscribe(listener) ?? (() => {}),
    [chatVerification],
  )
  const read = () => chatVerification?.state
  return useSyncExternalStore(subscribe, read, read)
}

/** Counts of lost, duplicate and differing entries. */
export function VerificationSummary({ log }: { readonly log: SessionLog }) {
  const { upTo, count, lost, differing, error } = useVerified(log)
  const { head, repeated } = useLogState(log)
  const chat = useVerifiedChat(log)
  const [lostMessages, differingMessages] = (['lost', 'differing'] as const).map(
    kind => chat?.found.filter(discrepancy => discrepancy.kind === kind) ?? [],
  ) as [Discrepancy[], Discrepancy[]]
  const isBad = lost.length + differing.length + repeated + (chat?.found.length ?? 0) > 0
  return (
    <section className="verification" data-bad={isBad} aria-label="Verification">
      <dl>
        <Counter name="lost" label="Lost" value={lost.length + lostMessages.length} />
        <Counter name="repeated" label="Duplicate" value={repeated} />
        <Counter name="differing" label="Different" value={differing.length + differingMessages.length} />
      </dl>
      <div className="verified">
        <p>
          Verified <strong>{upTo.toLocaleString('en')}</strong> of {head.toLocaleString('en')} entries
          {!isBad && upTo >= head && head > 0 && (
            <span className="tick" aria-hidden="true">
              ✓
            </span>
          )}
        </p>
        <progress max={Math.max(1, head)} value={upTo} aria-label="Verified entries" />
      </div>
      {lost.length > 0 && (
        <p className="bad" role="alert">
          Lost: {formatSequences(lost)}
        </p>
      )}
      {differing.length > 0 && (
        <p className="bad" role="alert">
          Different: {formatSequences(differing)}
        </p>
      )}
      <Discrepancies title="Text missing in the chat" found={lostMessages} />
      <Discrepancies title="Different text in the chat" found={differingMessages} />
      <details className="counted">
        <summary>
          {count.toLocaleString('en')} {count === 1 ? 'entry' : 'entries'}
          {chat && ` and ${chat.count.toLocaleString('en')} ${chat.count === 1 ? 'message' : 'messages'}`} compared
          {error !== undefined && `. The last check failed: ${error} Retrying.`}
        </summary>
        <dl>
          <dt>Lost</dt>
          <dd>
            Entries of the server's log that this tab does not have{chat && ', and chat messages with missing text'}.
            The log is read again by a separate request, which faults do not affect.
          </dd>
          <dt>Duplicate</dt>
          <dd>Entries that this tab received twice although the connection removes duplicates.</dd>
          <dt>Different</dt>
          <dd>Entries{chat && ' and messages'} that differ from the log.</dd>
        </dl>
      </details>
    </section>
  )
}

/** Maximum number of messages to list. */
const MAX_MESSAGES = 5

/** Messages of the chat that differ from the log. */
function Discrepancies({ title, found }: { readonly title: string; readonly found: readonly Discrepancy[] }) {
  const { travel } = useTravel()
  if (found.length === 0) return null
  return (
    <p className="bad" role="alert">
      {title}:{' '}
      {found.slice(0, MAX_MESSAGES).map(({ id, at, excerpt }, i) => (
        <span key={id}>
          {i > 0 && ', '}
          {excerpt}, entry{' '}
          <button type="button" className="plain" onClick={() => travel(at)}>
            {at}
          </button>
        </span>
      ))}
      {found.length > MAX_MESSAGES && ` and ${found.length - MAX_MESSAGES} more`}
    </p>
  )
}

function Counter({ name, label, value }: { readonly name: string; readonly label: string; readonly value: number }) {
  return (
    <div className="counter" data-bad={value > 0}>
      <dt>{label}</dt>
      <dd data-counter={name}>{value.toLocaleString('en')}</dd>
    </div>
  )
}
