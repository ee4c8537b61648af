import { useTravel } from '../travel/travel.ts'
import { durationOf, durationTicks } from './axis.ts'
import { type Bar, BarChart } from './bar-chart.tsx'
import type { RunMeter, StepTimes } from './run-meter.ts'

/** Number of latest steps to show. */
const MAX_STEPS = 60
const LEGEND = { wait: 'Time to first token', model: 'Model', tool: 'Tools', rest: 'Other' }

/** The duration of each step, by activity. */
export function StepsChart({ run }: { readonly run: RunMeter }) {
  const { travel } = useTravel()
  const steps = run.steps.slice(-MAX_STEPS)
  const bars = steps.map(step => barOf(step, run.workedMs, travel))
  const omitted = run.steps.length - steps.length
  const summary = `${run.steps.length} ${run.steps.length === 1 ? 'step' : 'steps'} in ${durationOf(run.workedMs)} of working time${omitted > 0 ? `, last ${MAX_STEPS} shown` : ''}`
  return (
    <BarChart name="Steps" summary={summary} bars={bars} legend={LEGEND} format={durationOf} ticksOf={durationTicks} />
  )
}

function barOf(step: StepTimes, nowMs: number, travel: (at?: number) => void): Bar {
  const { at, agent, attempt, startMs, state } = step
  const endMs = step.endMs ?? nowMs
  const firstMs = step.firstMs ?? step.modelEndMs ?? endMs
  const modelEndMs = Math.max(firstMs, step.modelEndMs ?? (step.firstMs === undefined ? firstMs : endMs))
  const totalMs = endMs - startMs
  // Tools may start before the model call ends.
  const toolMs = Math.min(step.toolMs, Math.max(0, endMs - modelEndMs))
  const sizes = {
    wait: firstMs - startMs,
    model: modelEndMs - firstMs,
    tool: toolMs,
    rest: Math.max(0, endMs - modelEndMs - toolMs),
  }
  const segments = (Object.keys(LEGEND) as (keyof typeof LEGEND)[]).map(tone => ({
    tone,
    size: sizes[tone],
    label: `${LEGEND[tone]}: ${durationOf(sizes[tone])}`,
  }))
  return {
    key: `${at}`,
    name: (
      <button type="button" className="plain" onClick={() => travel(at)}>
        {agent} {step.step}
        {attempt > 1 ? `, attempt ${attempt}` : ''}
      </button>
    ),
    from: startMs,
    segments,
    value: `${durationOf(totalMs)}${state === 'done' ? '' : `, ${state}`}`,
    isQuiet: state === 'discarded',
  }
}
