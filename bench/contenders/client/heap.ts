import { GCProfiler, getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
/** Runs the garbage collector. Call it before a measurement, so that garbage of the preparation does not count. */
export const collect = runInNewContext('gc') as () => void

/** Bytes that `run` allocates on the heap, collected or not: the sum of heap growth between collections. */
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
