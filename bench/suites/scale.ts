import type { Suite } from '../harness/suite.ts'
import { coldStartBenchmarks } from './scale/cold-start.ts'
import { killsBenchmark } from './scale/kills.ts'
import { readersBenchmarks } from './scale/readers.ts'
import { runsBenchmark } from './scale/runs.ts'
import { sessionsBenchmark, streamingBenchmark } from './scale/sessions.ts'

/** Capacity of one process: sessions, readers, runs, and the length of a session on cold start. */
export const scale: Suite = {
  name: 'scale',
  benchmarks: quick => [
    sessionsBenchmark(quick),
    streamingBenchmark(quick),
    ...readersBenchmarks(quick),
    runsBenchmark(quick),
    ...coldStartBenchmarks(quick),
    killsBenchmark(quick),
  ],
}
