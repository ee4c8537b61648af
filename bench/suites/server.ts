import type { Suite } from '../harness/suite.ts'
import { catchUpBenchmarks } from './server/catch-up.ts'
import { fanOutBenchmarks } from './server/fan-out.ts'
import { latencyBenchmarks } from './server/latency.ts'

/** Cost of serving a session to many readers, latency from an append to a reader, and catching up. */
export const server: Suite = {
  name: 'server',
  benchmarks: quick => [...fanOutBenchmarks(quick), ...latencyBenchmarks(quick), ...catchUpBenchmarks(quick)],
}
