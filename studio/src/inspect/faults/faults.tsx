import type { SessionLog } from '@millrace/client/log'
import { useEffect, useSyncExternalStore } from 'react'
import { useChatOfPage } from '../callbacks/calls.ts'
import { useInspectedLog } from '../inspected-log.ts'
import { useTravel } from '../travel/travel.ts'
import { ArrivalsStrip } from './arrivals-strip.tsx'
import { Chain } from './chain.tsx'
import type { Fault } from './fault-log.ts'
import { chatVerificationOf, faultsSoFar, subscribeToFaults, watchFaults } from './fault-monitor.ts'
import { faultName, faultOutcome } from './format-fault.ts'
import { useHost } from './host.ts'
import { useVerified, useVerifiedChat, VerificationSummary } from './verification-summary.tsx'

/** Injects faults and verifies that nothing is lost. */
export function Faults() {
  const log = useInspectedLog()
  if (!log.isRecording) return <Live log={log} />
  return <p className="panel quiet">Faults are not available for a recording.</p>
}

function Live({ log }: { readonly log: SessionLog }) {
  const state = useHost()
  const faults = useSyncExternalStore(subscribeToFaults, faultsSoFar, faultsSoFar)
  const verification = chatVerificationOf(log, useChatOfPage())
  useEffect(() => watchFaults(log), [log])
  useEffect(() => verification?.start(), [verification])
  return (
    <div className="panel faults">
      <VerificationSummary log={log} />
      {state.status === 'unsupported' ? (
        <p className="notice">
          To inject faults, start the server with <code>millrace dev</code>. Lost and duplicate entries are counted here
          in any case.
        </p>
      ) : (
        <Chain log={log} state={state} />
      )}
      <ArrivalsStrip log={log} faults={faults} />
      {state.status !== 'unsupported' && <FaultList log={log} faults={faults} />}
    </div>
  )
}

function FaultList({ log, faults }: { readonly log: SessionLog; readonly faults: readonly Fault[] }) {
  const verified = useVerified(log)
  const chat = useVerifiedChat(log)
  // Verified in both the log of this tab and the chat beside it.
  const upTo = Math.min(verified.upTo, chat?.upTo ?? Infinity)
  const isIntact = verified.lost.length + verified.differing.length + (chat?.found.length ?? 0) === 0
  if (faults.length === 0) {
    return <p className="quiet">Ask for a long answer, then click one of the buttons above while it streams.</p>
  }
  return (
    <ol className="fault-list" aria-label="Faults" aria-live="polite">
      {faults.toReversed().map(fault => (
        <FaultLine key={fault.id} fault={fault} isVerified={isIntact && upTo >= (fault.headAfter ?? Infinity)} />
      ))}
    </ol>
  )
}

function FaultLine({ fault, isVerified }: { readonly fault: Fault; readonly isVerified: boolean }) {
  const { travel } = useTravel()
  const { name, state, time, takenOverAt } = fault
  const clock = new Date(performance.timeOrigin + time).toLocaleTimeString('en-GB')
  return (
    <li data-fault={name} data-state={state}>
      <time>{clock}</time>
      <span className="what">{faultName(fault)}</span>
      <span className="came">
        {faultOutcome(fault)}
        {takenOverAt !== undefined && (
          <>
            {', '}
            <button type="button" className="plain" onClick={() => travel(takenOverAt)}>
              taken over at entry {takenOverAt}
            </button>
          </>
        )}
      </span>
      <span className="tick">{isVerified && '✓ Verified'}</span>
    </li>
  )
}
