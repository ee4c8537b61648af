import { type ReactNode, useState } from 'react'
import { useRunMeters } from '../charts/run-meters.ts'
import { RunSelect } from '../charts/run-select.tsx'
import { useInspectedLog } from '../inspected-log.ts'
import { useTravel } from '../travel/travel.ts'
import { CopyButton } from './copy-button.tsx'
import { formats } from './formats.ts'
import { useWire } from './use-wire.ts'
import { WireLines } from './wire-lines.tsx'

/** A run in any wire format, beside its entries. */
export function WirePanel() {
  const log = useInspectedLog()
  const runMeters = useRunMeters(log)
  const [chosen, choose] = useState<string>()
  const run = runMeters.runOf(chosen)
  if (run === undefined) return <p className="panel quiet">No runs yet.</p>
  const { runId, at, number } = run
  return (
    <div className="panel wire">
      <RunEvents key={runId} runId={runId} at={at} turn={number}>
        <RunSelect runs={runMeters.runs} run={run} onChoose={choose} />
      </RunEvents>
    </div>
  )
}

interface RunEventsProps {
  readonly runId: string
  readonly at: number
  readonly turn: number
  /** The run selector. */
  readonly children: ReactNode
}

function RunEvents({ children, ...run }: RunEventsProps) {
  const log = useInspectedLog()
  const { at, travel } = useTravel()
  const [formatId, setFormat] = useState(loadFormat)
  const wire = useWire(log, run, formatId)
  const isComplete = wire !== undefined && wire.processed >= log.state.count
  return (
    <>
      <div className="row">
        {children}
        <label className="row dialect">
          <span className="quiet">Format</span>
          <select
            value={formatId}
            onChange={({ target }) => {
              setFormat(target.value)
              saveFormat(target.value)
            }}
          >
            {formats.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <span className="quiet" role="status">
          {wire === undefined
            ? 'Loading…'
            : `${wire.events.toLocaleString('en')} events, ${sizeOf(wire.bytes)}${isComplete ? '' : ', more to come'}`}
        </span>
        <span className="space" />
        <CopyButton
          name="Copy all"
          isDisabled={!isComplete}
          text={() => wire?.lines.map(({ text = '' }) => text).join('') ?? ''}
        />
      </div>
      {wire && <WireLines lines={wire.lines} count={wire.lines.length} log={log} at={at} onChoose={travel} />}
    </>
  )
}

const STORAGE_KEY = 'wire-format'

/** The last selected format. */
function loadFormat(): string {
  const id = sessionStorage.getItem(STORAGE_KEY)
  return formats.some(format => format.id === id) && id !== null ? id : 'sse'
}

const saveFormat = (id: string): void => sessionStorage.setItem(STORAGE_KEY, id)

const sizeOf = (bytes: number): string =>
  bytes < 1000 ? `${bytes} bytes` : `${(bytes / 1000).toLocaleString('en', { maximumFractionDigits: 1 })} kB`
