import type { Suite } from '../harness/suite.ts'
import { appendBenchmarks } from './log/append.ts'
import { followBenchmarks } from './log/follow.ts'
import { latencyBenchmark } from './log/latency.ts'

/** What the log costs over what it is kept in, and how soon its readers know. */
export const log: Suite = {
  name: 'log',
  trial: 96,
  benchmarks: quick => {
    const rounds = quick ? 2 : 3
    return [...appendBenchmarks(quick, rounds), ...followBenchmarks(quick, rounds), latencyBenchmark(quick, rounds)]
  },
}
