import type { Suite } from '../harness/suite.ts'
import { crowdBenchmarks } from './screen/crowd.ts'
import { tokenBenchmarks } from './screen/tokens.ts'

/** Latency and CPU cost from a model's token to the screen. */
export const screen: Suite = {
  name: 'screen',
  benchmarks: quick => [...tokenBenchmarks(quick), ...crowdBenchmarks(quick)],
}
