import type { SessionLog } from '@millrace/client/log'
import { useEffect, useSyncExternalStore } from 'react'
import { useChatOfPage } from '../callbacks/calls.ts'
import { useInspected } from '../inspected.ts'
import { useTravel } from '../travel/travel.ts'
import { ArrivalsStrip } from './arrivals-strip.tsx'
import { Chain } from './chain.tsx'
import type { Fault } from './fault-log.ts'
import { useHost } from './host.ts'
import { faultsSoFar, readingOf, subscribeToFaults, watch } from './standing.ts'
import { useRead, useVerified, Verdict } from './verdict.tsx'
import { nameOf, outcomeWords } from './words.ts'

/** Pulls the plug, and shows that nothing is lost. */
export function Faults() {
  const log = useInspected()
  if (!log.isRecording) return <Live log={log} />
  return <p className="panel quiet">This is a recording: nothing of it is connected to anything that could fail.</p>
}

function Live({ log }: { readonly log: SessionLog }) {
  const state = useHost()
  const faults = useSyncExternalStore(subscribeToFaults, faultsSoFar, faultsSoFar)
  const reading = readingOf(log, useChatOfPage())
  useEffect(() => watch(log), [log])
  useEffect(() => reading?.start(), [reading])
  return (
    <div className="panel faults">
      <Verdict log={log} />
      {state.status === 'absent' ? (
        <p className="notice">
          Nothing here can be made to fail: faults need <code>millrace dev</code>, which serves this page with a server
          and a worker of its own. What is lost and repeated is counted all the same.
        </p>
      ) : (
        <Chain log={log} state={state} />
      )}
      <ArrivalsStrip log={log} faults={faults} />
      {state.status !== 'absent' && <FaultList log={log} faults={faults} />}
    </div>
  )
}

function FaultList({ log, faults }: { readonly log: SessionLog; readonly faults: readonly Fault[] }) {
  const verified = useVerified(log)
  const read = useRead(log)
  // By what the tab holds, and by what people read beside it.
  const upTo = Math.min(verified.upTo, read?.upTo ?? Infinity)
  const isFine = verified.lost.length + verified.differing.length + (read?.found.length ?? 0) === 0
  if (faults.length === 0) {
    return (
      <p className="quiet">Say something that takes a while, and press one of these in the middle of the answer.</p>
    )
  }
  return (
    <ol className="fault-list" aria-label="Faults" aria-live="polite">
      {faults.toReversed().map(fault => (
        <FaultLine key={fault.id} fault={fault} isVerified={isFine && upTo >= (fault.headAfter ?? Infinity)} />
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
      <span className="what">{nameOf(fault)}</span>
      <span className="came">
        {outcomeWords(fault)}
        {takenOverAt !== undefined && (
          <>
            {', '}
            <button type="button" className="plain" onClick={() => travel(takenOverAt)}>
              run taken over at {takenOverAt}
            </button>
          </>
        )}
      </span>
      <span className="tick">{isVerified && '✓ verified'}</span>
    </li>
  )
}
