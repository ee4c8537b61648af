import { runName } from '../run-name.ts'

interface RunOption {
  readonly runId: string
  readonly number: number
  readonly program: string
  readonly startedAt: number
  readonly status: string
}

interface RunSelectProps {
  readonly runs: readonly RunOption[]
  readonly run: RunOption
  readonly onChoose: (runId: string | undefined) => void
}

/** Number of latest runs in the list. */
const MAX_RUNS = 200

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
          .slice(-MAX_RUNS)
          .toReversed()
          .map(option => (
            <option key={option.runId} value={option.runId}>
              {labelOf(option)}
              {option === last ? ' (latest)' : ''}
            </option>
          ))}
      </select>
    </label>
  )
}

/** The label of a run. */
const labelOf = (run: RunOption): string =>
  `${runName(run)}, ${new Date(run.startedAt).toLocaleTimeString('en-GB')}, ${run.status}`
