import { useState } from 'react'
import { useInspected } from '../inspected.ts'
import { useFigures } from './figures.ts'
import { FirstChart } from './first-chart.tsx'
import { RateChart } from './rate-chart.tsx'
import type { RunMeter } from './run-meter.ts'
import { RunSelect } from './run-select.tsx'
import { SizesChart } from './sizes-chart.tsx'
import { StepsChart } from './steps-chart.tsx'
import { UsageChart } from './usage-chart.tsx'

/** Charts of the runs of a log. */
export function Charts() {
  const log = useInspected()
  const figures = useFigures(log)
  const { runs, used } = figures
  const [chosen, choose] = useState<string>()
  const run = figures.runOf(chosen)
  if (run === undefined) return <p className="panel quiet">No runs yet.</p>
  return (
    <div className="panel charts">
      <RunSelect runs={runs} run={run} onChoose={choose} />
      <OfRun run={run} />
      <FirstChart runs={runs} />
      <UsageChart runs={runs} used={used} />
    </div>
  )
}

function OfRun({ run }: { readonly run: RunMeter }) {
  return (
    <>
      <RateChart run={run} />
      <StepsChart run={run} />
      <SizesChart sizes={run.sizes} />
    </>
  )
}
