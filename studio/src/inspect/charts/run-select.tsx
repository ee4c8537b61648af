import { runName } from '../run-name.ts'

interface Named {
  readonly runId: string
  readonly number: number
  readonly program: string
  readonly startedAt: number
  readonly status: string
}

interface RunSelectProps {
  readonly runs: readonly Named[]
  readonly run: Named
  readonly onChoose: (runId: string | undefined) => void
}

/** Number of latest runs in the list. */
const MAX = 200

/** Selects a run. @default the latest */
export function RunSelect({ runs, run, onChoose }: RunSelectProps) {
  const last = runs.at(-1)
  return (
    <label className="row run-select">
      <span className="quiet">Run</span>
      <select
        value={run.runId}
        onChange={({ target }) => onChoose(target.value === last?.runId ? undefined : target.value)}
      >
        {runs
          .slice(-MAX)
          .toReversed()
          .map(one => (
            <option key={one.runId} value={one.runId}>
              {labelOf(one)}
              {one === last ? ' (latest)' : ''}
            </option>
          ))}
      </select>
    </label>
  )
}

/** The label of a run. */
const labelOf = (run: Named): string =>
  `${runName(run)}, ${new Date(run.startedAt).toLocaleTimeString('en-GB')}, ${run.status}`
