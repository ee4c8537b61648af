import { useState } from 'react'
import { runName } from '../run-name.ts'
import { countTicks, numberOf } from './axis.ts'
import { type Bar, BarChart } from './bar-chart.tsx'
import { costOf, loadPrices, type Price, type Prices, savePrices } from './prices.ts'
import type { ModelUsage, RunMeter, UsageByModel } from './run-meter.ts'

/** Number of latest runs to show. */
const MAX_RUNS = 40
const LEGEND = { input: 'Input', output: 'Output', discarded: 'Discarded attempts' }

/** Token usage per run, and its cost at prices that the user enters. */
export function UsageChart({ runs, usage }: { readonly runs: readonly RunMeter[]; readonly usage: UsageByModel }) {
  const [prices, setPrices] = useState(loadPrices)
  const latest = runs.slice(-MAX_RUNS)
  const total = sumOf([...usage.values()])
  const models = [...usage.keys()]
  const cost = costOf(usage, prices)
  const bars = latest.map(run => barOf(run, costOf(run.usage, prices)))
  const summary = `${numberOf(total.input)} input and ${numberOf(total.output)} output tokens${cost !== undefined && cost > 0 ? `, cost ${moneyOf(cost)}` : ''}`
  return (
    <div className="usage">
      <BarChart name="Usage" summary={summary} bars={bars} legend={LEGEND} format={numberOf} ticksOf={countTicks} />
      <PriceTable
        models={models}
        prices={prices}
        onChange={changed => {
          setPrices(changed)
          savePrices(changed)
        }}
      />
    </div>
  )
}

function barOf(run: RunMeter, cost: number | undefined): Bar {
  const { input, output, discardedInput, discardedOutput } = sumOf([...run.usage.values()])
  const discarded = discardedInput + discardedOutput
  const sizes = {
    input: Math.max(0, input - discardedInput),
    output: Math.max(0, output - discardedOutput),
    discarded,
  }
  return {
    key: run.runId,
    name: runName(run),
    segments: (Object.keys(LEGEND) as (keyof typeof LEGEND)[]).map(tone => ({
      tone,
      size: sizes[tone],
      label: `${LEGEND[tone]}: ${numberOf(sizes[tone])} ${sizes[tone] === 1 ? 'token' : 'tokens'}`,
    })),
    value: `${numberOf(input + output)}${cost === undefined || cost === 0 ? '' : ` · ${moneyOf(cost)}`}`,
  }
}

interface PriceTableProps {
  readonly models: readonly string[]
  readonly prices: Prices
  readonly onChange: (prices: Prices) => void
}

function PriceTable({ models, prices, onChange }: PriceTableProps) {
  if (models.length === 0) return null
  const set = (model: string, field: keyof Price, value: number) => {
    const { input = 0, output = 0 } = prices[model] ?? {}
    onChange({ ...prices, [model]: { input, output, [field]: Number.isFinite(value) && value >= 0 ? value : 0 } })
  }
  return (
    <details className="card prices">
      <summary>Prices</summary>
      <p className="quiet">Enter prices per million tokens to see costs. They are stored in this browser only.</p>
      <table>
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col">Input</th>
            <th scope="col">Output</th>
          </tr>
        </thead>
        <tbody>
          {models.map(model => (
            <tr key={model}>
              <th scope="row">{model || 'Unnamed model'}</th>
              {(['input', 'output'] as const).map(field => (
                <td key={field}>
                  <input
                    type="number"
                    min="0"
                    step="any"
                    inputMode="decimal"
                    aria-label={`Price per million ${field} tokens, ${model || 'unnamed model'}`}
                    defaultValue={prices[model]?.[field] ?? ''}
                    onChange={({ target }) => set(model, field, target.valueAsNumber)}
                  />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}

const sumOf = (all: readonly ModelUsage[]): ModelUsage =>
  all.reduce(
    (sum, usage) => ({
      input: sum.input + usage.input,
      output: sum.output + usage.output,
      discardedInput: sum.discardedInput + usage.discardedInput,
      discardedOutput: sum.discardedOutput + usage.discardedOutput,
    }),
    { input: 0, output: 0, discardedInput: 0, discardedOutput: 0 },
  )

/** Formats a cost. */
const moneyOf = (cost: number): string =>
  cost.toLocaleString('en', cost >= 1 ? { maximumFractionDigits: 2 } : { maximumSignificantDigits: 3 })
