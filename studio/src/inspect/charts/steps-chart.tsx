import { useTravel } from '../travel/travel.ts'
import { durationOf, durationsUpTo } from './axis.ts'
import { type Bar, Bars } from './bars.tsx'
import type { RunMeter, StepFigures } from './run-meter.ts'

/** Number of latest steps to show. */
const MAX = 60
const LEGEND = { wait: 'Time to first token', model: 'Model', tool: 'Tools', rest: 'Other' }

/** The duration of each step, by activity. */
export function StepsChart({ run }: { readonly run: RunMeter }) {
  const { travel } = useTravel()
  const steps = run.steps.slice(-MAX)
  const bars = steps.map(step => barOf(step, run.workedMs, travel))
  const left = run.steps.length - steps.length
  const summary = `${run.steps.length} ${run.steps.length === 1 ? 'step' : 'steps'} in ${durationOf(run.workedMs)} of working time${left > 0 ? `, last ${MAX} shown` : ''}`
  return <Bars name="Steps" summary={summary} bars={bars} legend={LEGEND} format={durationOf} ticksOf={durationsUpTo} />
}

function barOf(step: StepFigures, nowMs: number, travel: (at?: number) => void): Bar {
  const { at, agent, attempt, startMs, state } = step
  const endMs = step.endMs ?? nowMs
  const firstMs = step.firstMs ?? step.modelEndMs ?? endMs
  const modelEndMs = Math.max(firstMs, step.modelEndMs ?? (step.firstMs === undefined ? firstMs : endMs))
  const all = endMs - startMs
  // Tools may start before the model call ends.
  const toolMs = Math.min(step.toolMs, Math.max(0, endMs - modelEndMs))
  const sizes = {
    wait: firstMs - startMs,
    model: modelEndMs - firstMs,
    tool: toolMs,
    rest: Math.max(0, endMs - modelEndMs - toolMs),
  }
  const pieces = (Object.keys(LEGEND) as (keyof typeof LEGEND)[]).map(tone => ({
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
    pieces,
    value: `${durationOf(all)}${state === 'done' ? '' : `, ${state}`}`,
    isQuiet: state === 'discarded',
  }
}
