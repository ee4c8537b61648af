import type { Suite } from '../harness/suite.ts'
import { crowdBenchmarks } from './screen/crowd.ts'
import { tokenBenchmarks } from './screen/tokens.ts'

/** What it takes to carry the tokens of models to the screen. */
export const screen: Suite = {
  name: 'screen',
  benchmarks: quick => [...tokenBenchmarks(quick), ...crowdBenchmarks(quick)],
}
