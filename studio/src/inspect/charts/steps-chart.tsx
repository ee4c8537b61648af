import { useTravel } from '../travel/travel.ts'
import { durationOf, durationsUpTo } from './axis.ts'
import { type Bar, Bars } from './bars.tsx'
import type { RunMeter, StepFigures } from './run-meter.ts'

/** The latest that are shown. */
const MOST = 60
const LEGEND = { wait: 'until the first token', say: 'model', tool: 'tools', rest: 'other' }

/** What the time of each step went into. */
export function StepsChart({ run }: { readonly run: RunMeter }) {
  const { travel } = useTravel()
  const steps = run.steps.slice(-MOST)
  const bars = steps.map(step => barOf(step, run.workedMs, travel))
  const left = run.steps.length - steps.length
  const summary = `${run.steps.length} ${run.steps.length === 1 ? 'step' : 'steps'} in ${durationOf(run.workedMs)} of work${left > 0 ? `; the last ${MOST} are shown` : ''}`
  return <Bars name="Steps" summary={summary} bars={bars} legend={LEGEND} format={durationOf} ticksOf={durationsUpTo} />
}

function barOf(step: StepFigures, nowMs: number, travel: (at?: number) => void): Bar {
  const { at, who, attempt, startMs, state } = step
  const endMs = step.endMs ?? nowMs
  const firstMs = step.firstMs ?? step.saidMs ?? endMs
  const saidMs = Math.max(firstMs, step.saidMs ?? (step.firstMs === undefined ? firstMs : endMs))
  const all = endMs - startMs
  // Tools may begin before the model has said all.
  const toolMs = Math.min(step.toolMs, Math.max(0, endMs - saidMs))
  const sizes = {
    wait: firstMs - startMs,
    say: saidMs - firstMs,
    tool: toolMs,
    rest: Math.max(0, endMs - saidMs - toolMs),
  }
  const pieces = (Object.keys(LEGEND) as (keyof typeof LEGEND)[]).map(tone => ({
    tone,
    size: sizes[tone],
    words: `${LEGEND[tone]} ${durationOf(sizes[tone])}`,
  }))
  return {
    key: `${at}`,
    name: (
      <button type="button" className="plain" onClick={() => travel(at)}>
        {who} {step.step}
        {attempt > 1 ? `, attempt ${attempt}` : ''}
      </button>
    ),
    from: startMs,
    pieces,
    value: `${durationOf(all)}${state === 'done' ? '' : `, ${state}`}`,
    isQuiet: state === 'discarded',
  }
}
