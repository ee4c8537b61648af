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

/** How fast it was said. */
export function RateChart({ run }: { readonly run: RunMeter }) {
  const { rate } = run
  const hasTokens = rate.moments.some(({ tokens }) => tokens > 0)
  const [chosen, choose] = useState<RateUnit>()
  const unit = chosen ?? (hasTokens && run.status !== 'running' ? 'tokens' : 'words')
  const columns = columnsOf(rate, unit)
  const total = rate.moments.reduce((sum, moment) => sum + moment[unit], 0)
  const moments = rate.moments.filter(moment => moment[unit] > 0).length
  const mean = moments === 0 ? 0 : total / ((moments * rate.widthMs) / 1000)
  const most = columns.reduce((top, { value }) => Math.max(top, value), 0)
  const summary =
    total === 0
      ? unit === 'tokens'
        ? 'The model has not told how many there were.'
        : 'Nothing was said yet.'
      : `${numberOf(total)} ${unit}, ${numberOf(mean)} a second while it speaks, at most ${numberOf(most)}`
  return (
    <div>
      <fieldset className="segments units-of" aria-label="What is counted">
        {UNITS.map(({ unit: one, name }) => (
          <button key={one} type="button" aria-pressed={one === unit} onClick={() => choose(one)}>
            {name}
          </button>
        ))}
      </fieldset>
      <Columns
        name={`${unit[0]?.toUpperCase()}${unit.slice(1)} a second`}
        columns={columns}
        unit={`${unit} a second${unit === 'tokens' ? ', as the model counted them at the end of each step' : ''}`}
        along="time at work since the run began"
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
      words: `${numberOf(value)} ${unit} a second at ${durationOf(fromMs)}`,
      ...(isTick && { tick: fromMs === 0 ? '0' : durationOf(Math.floor(fromMs / every) * every) }),
    }
  })
}

/** Between the marks of an axis of time, in milliseconds. */
function tickEvery(ms: number): number {
  const steps = [250, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000]
  return steps.find(step => ms / step <= 5) ?? ms / 4
}
