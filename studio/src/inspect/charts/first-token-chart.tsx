import { runName } from '../run-name.ts'
import { useTravel } from '../travel/travel.ts'
import { durationOf, durationTicks } from './axis.ts'
import { ColumnChart } from './column-chart.tsx'
import type { RunMeter } from './run-meter.ts'

/** Number of latest steps and runs to show. */
const MAX_COLUMNS = 60

/** Time to the first token: of each run since its request, of each step since its start. */
export function FirstTokenChart({ runs }: { readonly runs: readonly RunMeter[] }) {
  const { travel } = useTravel()
  const latest = runs.slice(-MAX_COLUMNS)
  const firstTokens = latest
    .flatMap(run => {
      const { number } = run
      const ofRun = run.firstMs === undefined ? [] : [{ number, run, ms: run.firstMs, step: undefined }]
      const ofSteps = run.steps.flatMap(step =>
        step.firstMs === undefined ? [] : [{ number, run, ms: step.firstMs - step.startMs, step }],
      )
      return [...ofRun, ...ofSteps]
    })
    .slice(-MAX_COLUMNS)
  const columns = firstTokens.map(({ number, run, ms, step }) => ({
    key: `${run.runId} ${step?.at}`,
    value: ms,
    description: step
      ? `${runName(run)}, ${step.agent} step ${step.step}: ${durationOf(ms)}`
      : `${runName(run)}: ${durationOf(ms)}`,
    ...(step ? { tone: 'quiet' as const } : { tick: `${number}` }),
  }))
  const runTimes = latest.flatMap(({ firstMs }) => firstMs ?? []).toSorted((a, b) => a - b)
  const median = runTimes[Math.floor(runTimes.length / 2)]
  const summary =
    median === undefined
      ? 'No output yet.'
      : runTimes.length > 1
        ? `Median ${durationOf(median)}, maximum ${durationOf(runTimes.at(-1) ?? 0)} in ${runTimes.length} runs`
        : durationOf(median)
  return (
    <ColumnChart
      name="Time to first token"
      columns={columns}
      yLabel="time"
      xLabel="runs, with their steps in a lighter color"
      summary={summary}
      format={durationOf}
      ticksOf={durationTicks}
      hasGaps
      onChoose={index => travel(firstTokens[index]?.step?.at ?? firstTokens[index]?.run.at)}
    />
  )
}
