import type { Suite } from '../harness/suite.ts'
import { pageBenchmarks } from './client/page.ts'
import { storeBenchmarks } from './client/store.ts'

/** What it costs to have an answer shown while it comes: in the store, and on a page. */
export const client: Suite = {
  name: 'client',
  benchmarks: quick => [...storeBenchmarks(quick), ...pageBenchmarks(quick)],
}
