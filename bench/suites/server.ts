import type { Suite } from '../harness/suite.ts'
import { catchUpBenchmarks } from './server/catch-up.ts'
import { fanOutBenchmarks } from './server/fan-out.ts'
import { latencyBenchmarks } from './server/latency.ts'

/** What it costs to serve a session to many, how soon they have what is appended, and how those who come late catch up. */
export const server: Suite = {
  name: 'server',
  benchmarks: quick => [...fanOutBenchmarks(quick), ...latencyBenchmarks(quick), ...catchUpBenchmarks(quick)],
}
