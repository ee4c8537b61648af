import { runName } from '../run-name.ts'
import { useTravel } from '../travel/travel.ts'
import { durationOf, durationsUpTo } from './axis.ts'
import { Columns } from './columns.tsx'
import type { RunMeter } from './run-meter.ts'

/** The latest steps and runs that are shown. */
const MOST = 60

/** How long one waits for the first word: of each run from its request, of each step from its start. */
export function FirstChart({ runs }: { readonly runs: readonly RunMeter[] }) {
  const { travel } = useTravel()
  const latest = runs.slice(-MOST)
  const all = latest
    .flatMap(run => {
      const { number } = run
      const ofRun = run.firstMs === undefined ? [] : [{ number, run, ms: run.firstMs, step: undefined }]
      const ofSteps = run.steps.flatMap(step =>
        step.firstMs === undefined ? [] : [{ number, run, ms: step.firstMs - step.startMs, step }],
      )
      return [...ofRun, ...ofSteps]
    })
    .slice(-MOST)
  const columns = all.map(({ number, run, ms, step }) => ({
    key: `${run.runId} ${step?.at}`,
    value: ms,
    words: step
      ? `${durationOf(ms)} for step ${step.step} of ${step.who} in ${runName(run)}`
      : `${durationOf(ms)} for ${runName(run)}, from its request`,
    ...(step ? { tone: 'quiet' as const } : { tick: `${number}` }),
  }))
  const waited = latest.flatMap(({ firstMs }) => firstMs ?? []).toSorted((a, b) => a - b)
  const middle = waited[Math.floor(waited.length / 2)]
  const summary =
    middle === undefined
      ? 'Nothing was said yet.'
      : `${durationOf(middle)}${waited.length > 1 ? ` in the middle of ${waited.length} runs, at most ${durationOf(waited.at(-1) ?? 0)}` : ''}`
  return (
    <Columns
      name="Time to the first token"
      columns={columns}
      unit="time"
      along="runs, and fainter their steps"
      summary={summary}
      format={durationOf}
      ticksOf={durationsUpTo}
      isApart
      onChoose={place => travel(all[place]?.step?.at ?? all[place]?.run.at)}
    />
  )
}
