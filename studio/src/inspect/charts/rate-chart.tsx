import { useState } from 'react'
import { durationOf, numberOf } from './axis.ts'
import { type Column, Columns } from './columns.tsx'
import type { Rate, RateUnit } from './rate.ts'
import type { RunMeter } from './run-meter.ts'

const UNITS: readonly { readonly unit: RateUnit; readonly name: string }[] = [
  { unit: 'tokens', name: 'Tokens' },
  { unit: 'words', name: 'Words' },
  { unit: 'deltas', name: 'Deltas' },
]

/** Output speed of a run over time. */
export function RateChart({ run }: { readonly run: RunMeter }) {
  const { rate } = run
  const hasTokens = rate.moments.some(({ tokens }) => tokens > 0)
  const [chosen, choose] = useState<RateUnit>()
  const unit = chosen ?? (hasTokens && run.status !== 'running' ? 'tokens' : 'words')
  const columns = columnsOf(rate, unit)
  const total = rate.moments.reduce((sum, moment) => sum + moment[unit], 0)
  const moments = rate.moments.filter(moment => moment[unit] > 0).length
  const mean = moments === 0 ? 0 : total / ((moments * rate.widthMs) / 1000)
  const max = columns.reduce((top, { value }) => Math.max(top, value), 0)
  const summary =
    total === 0
      ? unit === 'tokens'
        ? 'The model did not report tokens.'
        : 'No output yet.'
      : `${numberOf(total)} ${unit}, ${numberOf(mean)}/s on average, ${numberOf(max)}/s at most`
  return (
    <div>
      <fieldset className="segments units-of" aria-label="Unit">
        {UNITS.map(({ unit: one, name }) => (
          <button key={one} type="button" aria-pressed={one === unit} onClick={() => choose(one)}>
            {name}
          </button>
        ))}
      </fieldset>
      <Columns
        name={`${unit[0]?.toUpperCase()}${unit.slice(1)} per second`}
        columns={columns}
        unit={`${unit} per second${unit === 'tokens' ? ', as reported by the model' : ''}`}
        along="working time since the start of the run"
        summary={summary}
      />
    </div>
  )
}

function columnsOf({ moments, widthMs }: Rate, unit: RateUnit): Column[] {
  const every = tickEvery(moments.length * widthMs)
  return moments.map((moment, i) => {
    const fromMs = i * widthMs
    const value = moment[unit] / (widthMs / 1000)
    const isTick = Math.floor(fromMs / every) !== Math.floor((fromMs - widthMs) / every)
    return {
      key: `${fromMs}`,
      value,
      words: `${numberOf(value)} ${unit} per second at ${durationOf(fromMs)}`,
      ...(isTick && { tick: fromMs === 0 ? '0' : durationOf(Math.floor(fromMs / every) * every) }),
    }
  })
}

/** Distance between ticks of the time axis, in ms. */
function tickEvery(ms: number): number {
  const steps = [250, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000]
  return steps.find(step => ms / step <= 5) ?? ms / 4
}
