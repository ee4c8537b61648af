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

/** So many runs can be chosen of; those before them are found by their entries. */
const MOST = 200

/** Which run is shown: the latest, as long as nobody chooses another. */
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
          .slice(-MOST)
          .toReversed()
          .map(one => (
            <option key={one.runId} value={one.runId}>
              {wordsOf(one)}
              {one === last ? ', the latest' : ''}
            </option>
          ))}
      </select>
    </label>
  )
}

/** A run in a few words. */
const wordsOf = (run: Named): string =>
  `${runName(run)}, ${new Date(run.startedAt).toLocaleTimeString('en-GB')}, ${run.status}`
