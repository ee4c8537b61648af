import { type ReactNode, useState } from 'react'
import { useFigures } from '../charts/figures.ts'
import { RunSelect } from '../charts/run-select.tsx'
import { useInspected } from '../inspected.ts'
import { useTravel } from '../travel/travel.ts'
import { CopyButton } from './copy-button.tsx'
import { formats } from './formats.ts'
import { useWire } from './use-wire.ts'
import { WireLines } from './wire-lines.tsx'

/** A run in any wire format, beside its entries. */
export function WirePanel() {
  const log = useInspected()
  const figures = useFigures(log)
  const [chosen, choose] = useState<string>()
  const run = figures.runOf(chosen)
  if (run === undefined) return <p className="panel quiet">No runs yet.</p>
  const { runId, at, number } = run
  return (
    <div className="panel wire">
      <OfRun key={runId} runId={runId} at={at} turn={number}>
        <RunSelect runs={figures.runs} run={run} onChoose={choose} />
      </OfRun>
    </div>
  )
}

interface OfRunProps {
  readonly runId: string
  readonly at: number
  readonly turn: number
  /** The run selector. */
  readonly children: ReactNode
}

function OfRun({ children, ...run }: OfRunProps) {
  const log = useInspected()
  const { at, travel } = useTravel()
  const [formatId, setFormat] = useState(kept)
  const wire = useWire(log, run, formatId)
  const isWhole = wire !== undefined && wire.taken >= log.state.count
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
              keep(target.value)
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
            : `${wire.events.toLocaleString('en')} events, ${sizeOf(wire.bytes)}${isWhole ? '' : ', more to come'}`}
        </span>
        <span className="space" />
        <CopyButton
          name="Copy all"
          isDisabled={!isWhole}
          text={() => wire?.lines.map(({ text = '' }) => text).join('') ?? ''}
        />
      </div>
      {wire && <WireLines lines={wire.lines} count={wire.lines.length} log={log} at={at} onChoose={travel} />}
    </>
  )
}

const KEY = 'wire-format'

/** The last selected format. */
function kept(): string {
  const id = sessionStorage.getItem(KEY)
  return formats.some(format => format.id === id) && id !== null ? id : 'sse'
}

const keep = (id: string): void => sessionStorage.setItem(KEY, id)

const sizeOf = (bytes: number): string =>
  bytes < 1000 ? `${bytes} bytes` : `${(bytes / 1000).toLocaleString('en', { maximumFractionDigits: 1 })} kB`
