import { runName } from '../run-name.ts'
import { useTravel } from '../travel/travel.ts'
import { durationOf, durationsUpTo } from './axis.ts'
import { Columns } from './columns.tsx'
import type { RunMeter } from './run-meter.ts'

/** Number of latest steps and runs to show. */
const MAX = 60

/** Time to the first token: of each run since its request, of each step since its start. */
export function FirstChart({ runs }: { readonly runs: readonly RunMeter[] }) {
  const { travel } = useTravel()
  const latest = runs.slice(-MAX)
  const all = latest
    .flatMap(run => {
      const { number } = run
      const ofRun = run.firstMs === undefined ? [] : [{ number, run, ms: run.firstMs, step: undefined }]
      const ofSteps = run.steps.flatMap(step =>
        step.firstMs === undefined ? [] : [{ number, run, ms: step.firstMs - step.startMs, step }],
      )
      return [...ofRun, ...ofSteps]
    })
    .slice(-MAX)
  const columns = all.map(({ number, run, ms, step }) => ({
    key: `${run.runId} ${step?.at}`,
    value: ms,
    words: step
      ? `${runName(run)}, ${step.agent} step ${step.step}: ${durationOf(ms)}`
      : `${runName(run)}: ${durationOf(ms)}`,
    ...(step ? { tone: 'quiet' as const } : { tick: `${number}` }),
  }))
  const waited = latest.flatMap(({ firstMs }) => firstMs ?? []).toSorted((a, b) => a - b)
  const middle = waited[Math.floor(waited.length / 2)]
  const summary =
    middle === undefined
      ? 'No output yet.'
      : waited.length > 1
        ? `Median ${durationOf(middle)}, maximum ${durationOf(waited.at(-1) ?? 0)} in ${waited.length} runs`
        : durationOf(middle)
  return (
    <Columns
      name="Time to first token"
      columns={columns}
      unit="time"
      along="runs, with their steps in a lighter color"
      summary={summary}
      format={durationOf}
      ticksOf={durationsUpTo}
      isApart
      onChoose={index => travel(all[index]?.step?.at ?? all[index]?.run.at)}
    />
  )
}
