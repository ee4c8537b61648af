import { useState } from 'react'
import { runName } from '../run-name.ts'
import { countsUpTo, numberOf } from './axis.ts'
import { type Bar, Bars } from './bars.tsx'
import { costOf, keepPrices, keptPrices, type Price, type Prices } from './prices.ts'
import type { RunMeter, Used, UsedBy } from './run-meter.ts'

/** Number of latest runs to show. */
const MAX = 40
const LEGEND = { input: 'Input', output: 'Output', discarded: 'Discarded attempts' }

/** Token usage per run, and its cost at prices that the user enters. */
export function UsageChart({ runs, used }: { readonly runs: readonly RunMeter[]; readonly used: UsedBy }) {
  const [prices, setPrices] = useState(keptPrices)
  const shown = runs.slice(-MAX)
  const total = sumOf([...used.values()])
  const models = [...used.keys()]
  const cost = costOf(used, prices)
  const bars = shown.map(run => barOf(run, costOf(run.used, prices)))
  const summary = `${numberOf(total.input)} input and ${numberOf(total.output)} output tokens${cost !== undefined && cost > 0 ? `, cost ${moneyOf(cost)}` : ''}`
  return (
    <div className="usage">
      <Bars name="Usage" summary={summary} bars={bars} legend={LEGEND} format={numberOf} ticksOf={countsUpTo} />
      <PriceTable
        models={models}
        prices={prices}
        onChange={changed => {
          setPrices(changed)
          keepPrices(changed)
        }}
      />
    </div>
  )
}

function barOf(run: RunMeter, cost: number | undefined): Bar {
  const { input, output, discardedInput, discardedOutput } = sumOf([...run.used.values()])
  const discarded = discardedInput + discardedOutput
  const sizes = {
    input: Math.max(0, input - discardedInput),
    output: Math.max(0, output - discardedOutput),
    discarded,
  }
  return {
    key: run.runId,
    name: runName(run),
    pieces: (Object.keys(LEGEND) as (keyof typeof LEGEND)[]).map(tone => ({
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

const sumOf = (all: readonly Used[]): Used =>
  all.reduce(
    (sum, one) => ({
      input: sum.input + one.input,
      output: sum.output + one.output,
      discardedInput: sum.discardedInput + one.discardedInput,
      discardedOutput: sum.discardedOutput + one.discardedOutput,
    }),
    { input: 0, output: 0, discardedInput: 0, discardedOutput: 0 },
  )

/** Formats a cost. */
const moneyOf = (cost: number): string =>
  cost.toLocaleString('en', cost >= 1 ? { maximumFractionDigits: 2 } : { maximumSignificantDigits: 3 })
