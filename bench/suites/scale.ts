import type { Suite } from '../harness/suite.ts'
import { coldStartBenchmarks } from './scale/cold-start.ts'
import { readersBenchmarks } from './scale/readers.ts'
import { runsBenchmark } from './scale/runs.ts'
import { sessionsBenchmark, streamingBenchmark } from './scale/sessions.ts'

/** How far one process reaches: by its sessions, its readers, its runs, and the length of a session that it opens. */
export const scale: Suite = {
  name: 'scale',
  benchmarks: quick => [
    sessionsBenchmark(quick),
    streamingBenchmark(quick),
    ...readersBenchmarks(quick),
    runsBenchmark(quick),
    ...coldStartBenchmarks(quick),
  ],
}
