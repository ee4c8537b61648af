import type { SessionLog } from '@millrace/client/log'
import { useLogState } from '@millrace/react/log'
import type { ReactNode } from 'react'
import { tab } from '../../app/connection.ts'
import { errorText } from '../../error-text.ts'
import { injectFault } from './fault-monitor.ts'
import type { HostState } from './host.ts'

const DELAYS = [
  { ms: 0, name: 'Off' },
  { ms: 300, name: '300 ms' },
  { ms: 2000, name: '2 s' },
]

/** This tab, the server and the worker, with buttons that inject faults into each. */
export function Chain({ log, state }: { readonly log: SessionLog; readonly state: HostState }) {
  const { status, reason } = useLogState(log)
  const { host } = state
  const isServerDown = state.status !== 'connected'
  const delayMs = host?.delays[tab] ?? 0
  const worker = isServerDown ? undefined : host?.worker
  const workerState = worker?.state ?? 'unknown'
  return (
    <div className="chain">
      <Link name="This tab" dotState={status} state={status.replace('-', ' ')} detail={errorText({ message: reason })}>
        <button
          type="button"
          className="link-button"
          disabled={isServerDown}
          onClick={() => void injectFault('drop', log)}
        >
          Drop connection
        </button>
        <fieldset className="delays" disabled={isServerDown}>
          <legend>Delay</legend>
          {DELAYS.map(({ ms, name }) => (
            <label key={ms} className="box" data-chosen={delayMs === ms}>
              <input
                type="radio"
                name="delay"
                className="hidden"
                checked={delayMs === ms}
                onChange={() => void injectFault('delay', log, ms)}
              />
              {name}
            </label>
          ))}
        </fieldset>
      </Link>
      <Wire isUp={status === 'live'} isSlow={delayMs > 0} />
      <Link
        name="Server"
        dotState={isServerDown ? 'offline' : 'live'}
        state={isServerDown ? 'down' : 'up'}
        detail={host && `pid ${host.server.pid}, ${startsOf(host.server.starts)}`}
      >
        <button
          type="button"
          className="link-button"
          disabled={isServerDown}
          onClick={() => void injectFault('restart-server', log)}
        >
          Restart server
        </button>
      </Link>
      <Wire isUp={!isServerDown && workerState === 'up'} />
      <Link
        name="Worker"
        dotState={workerState === 'up' ? 'live' : workerState === 'starting' ? 'connecting' : 'offline'}
        state={workerState}
        detail={
          worker && `${worker.pid === undefined ? 'no process' : `pid ${worker.pid}`}, ${startsOf(worker.starts)}`
        }
      >
        <button
          type="button"
          className="link-button"
          disabled={isServerDown || workerState !== 'up'}
          onClick={() => void injectFault('kill-worker', log)}
        >
          Kill worker
        </button>
      </Link>
    </div>
  )
}

const startsOf = (starts: number): string => (starts === 1 ? 'started once' : `started ${starts} times`)

interface LinkProps {
  readonly name: string
  readonly state: string
  readonly dotState: string
  readonly detail: string | undefined
  readonly children: ReactNode
}

function Link({ name, state, dotState, detail, children }: LinkProps) {
  return (
    <section className="link" data-link={name} data-state={state} aria-label={name}>
      <h3>
        <span className="dot" data-state={dotState} />
        {name}
        <span className="link-state">{state}</span>
      </h3>
      <p className="quiet">{detail ?? ' '}</p>
      <div className="row">{children}</div>
    </section>
  )
}

/** The line between two of them. */
function Wire({ isUp, isSlow = false }: { readonly isUp: boolean; readonly isSlow?: boolean }) {
  return (
    <svg className="wire-line" data-up={isUp} data-slow={isSlow} viewBox="0 0 40 40" aria-hidden="true">
      <line x1="0" y1="20" x2="40" y2="20" />
      {!isUp && <path d="M15 12l10 16 M25 12l-10 16" />}
    </svg>
  )
}
