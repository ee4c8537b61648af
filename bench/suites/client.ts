import type { Suite } from '../harness/suite.ts'
import { pageBenchmarks } from './client/page.ts'
import { storeBenchmarks } from './client/store.ts'

/** Cost of showing a streaming answer: in the client store, and on a React page. */
export const client: Suite = {
  name: 'client',
  benchmarks: quick => [...storeBenchmarks(quick), ...pageBenchmarks(quick)],
}
