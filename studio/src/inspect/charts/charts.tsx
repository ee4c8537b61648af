import { useState } from 'react'
import { useInspectedLog } from '../inspected-log.ts'
import { FirstTokenChart } from './first-token-chart.tsx'
import { RateChart } from './rate-chart.tsx'
import { useRunMeters } from './run-meters.ts'

import { RunSelect } from './run-select.tsx'
import { SizesChart } from './sizes-chart.tsx'
import { StepsChart } from './steps-chart.tsx'
import { UsageChart } from './usage-chart.tsx'

/** Charts of the runs of a log. */
export function Charts() {
  const log = useInspectedLog()
  const runMeters = useRunMeters(log)
  const { runs, usage } = runMeters
  const [chosen, choose] = useState<string>()
  const run = runMeters.runOf(chosen)
  if (run === undefined) return <p className="panel quiet">No runs yet.</p>
  return (
    <div className="panel charts">
      <RunSelect runs={runs} run={run} onChoose={choose} />
      <RateChart run={run} />
      <StepsChart run={run} />
      <SizesChart sizes={run.sizes} />
      <FirstTokenChart runs={runs} />
      <UsageChart runs={runs} usage={usage} />
    </div>
  )
}
