import type { Suite } from '../harness/suite.ts'
import { appendBenchmarks } from './log/append.ts'
import { bytesBenchmark } from './log/bytes.ts'
import { catchUpBenchmark, readersBenchmark } from './log/catch-up.ts'
import { followBenchmarks } from './log/follow.ts'
import { latencyBenchmark } from './log/latency.ts'

/** Cost of the log over the raw backend, latency to readers, and catching up. */
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
