import { useState } from 'react'
import { durationOf, numberOf } from './axis.ts'
import { type Column, ColumnChart } from './column-chart.tsx'
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
  const hasTokens = rate.buckets.some(({ tokens }) => tokens > 0)
  const [chosen, choose] = useState<RateUnit>()
  const unit = chosen ?? (hasTokens && run.status !== 'running' ? 'tokens' : 'words')
  const columns = columnsOf(rate, unit)
  const total = rate.buckets.reduce((sum, bucket) => sum + bucket[unit], 0)
  const bucketCount = rate.buckets.filter(bucket => bucket[unit] > 0).length
  const mean = bucketCount === 0 ? 0 : total / ((bucketCount * rate.widthMs) / 1000)
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
        {UNITS.map(({ unit: option, name }) => (
          <button key={option} type="button" aria-pressed={option === unit} onClick={() => choose(option)}>
            {name}
          </button>
        ))}
      </fieldset>
      <ColumnChart
        name={`${unit[0]?.toUpperCase()}${unit.slice(1)} per second`}
        columns={columns}
        yLabel={`${unit} per second${unit === 'tokens' ? ', as reported by the model' : ''}`}
        xLabel="working time since the start of the run"
        summary={summary}
      />
    </div>
  )
}

function columnsOf({ buckets, widthMs }: Rate, unit: RateUnit): Column[] {
  const every = tickEvery(buckets.length * widthMs)
  return buckets.map((bucket, i) => {
    const fromMs = i * widthMs
    const value = bucket[unit] / (widthMs / 1000)
    const isTick = Math.floor(fromMs / every) !== Math.floor((fromMs - widthMs) / every)
    return {
      key: `${fromMs}`,
      value,
      description: `${numberOf(value)} ${unit} per second at ${durationOf(fromMs)}`,
      ...(isTick && { tick: fromMs === 0 ? '0' : durationOf(Math.floor(fromMs / every) * every) }),
    }
  })
}

/** Distance between ticks of the time axis, in ms. */
function tickEvery(ms: number): number {
  const steps = [250, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000]
  return steps.find(step => ms / step <= 5) ?? ms / 4
}
