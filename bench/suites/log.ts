import type { Suite } from '../harness/suite.ts'
import { appendBenchmarks } from './log/append.ts'
import { bytesBenchmark } from './log/bytes.ts'
import { catchUpBenchmark, readersBenchmark } from './log/catch-up.ts'
import { followBenchmarks } from './log/follow.ts'
import { latencyBenchmark } from './log/latency.ts'

/** What the log costs over what it is kept in, how soon its readers know, and how those who come late catch up. */
export const log: Suite = {
  name: 'log',
  trial: 48,
  benchmarks: quick => {
    const rounds = quick ? 1 : 3
    return [
      ...appendBenchmarks(quick, rounds),
      ...followBenchmarks(quick, rounds),
      latencyBenchmark(quick, rounds),
      catchUpBenchmark(quick, rounds),
      readersBenchmark(quick, rounds),
      bytesBenchmark(quick),
    ]
  },
}
