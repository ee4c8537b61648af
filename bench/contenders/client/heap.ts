import { GCProfiler, getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
/** Collects what is left of making things ready, which is no part of what is measured. */
export const collect = runInNewContext('gc') as () => void

/** What is allocated on the heap while something runs, collected or not: what the heap gains between two collections, summed up. */
export async function allocated<T>(run: () => Promise<T>): Promise<{ result: T; bytes: number }> {
  const profiler = new GCProfiler()
  profiler.start()
  let before = getHeapStatistics().used_heap_size
  const result = await run()
  const after = getHeapStatistics().used_heap_size
  let bytes = 0
  for (const { beforeGC, afterGC } of profiler.stop().statistics) {
    bytes += beforeGC.heapStatistics.usedHeapSize - before
    before = afterGC.heapStatistics.usedHeapSize
  }
  return { result, bytes: bytes + after - before }
}
