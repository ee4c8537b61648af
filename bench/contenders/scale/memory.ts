import { setTimeout as pause } from 'node:timers/promises'
import { collect } from '../client/heap.ts'

/** Memory of a process after garbage collection, in bytes. */
export interface Memory {
  readonly heap: number
  readonly external: number
  readonly resident: number
}

/** Smaller counts run only in tests, which need no figures. */
const MIN_COUNT = 100

/** Memory of this process after work in flight has finished. */
export async function memory(count: number): Promise<Memory> {
  for (let turn = 0; turn < 4 && count >= MIN_COUNT; turn++) {
    await pause(100)
    collect()
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heap: heapUsed, external, resident: rss }
}

/** Heap and external memory per item, in bytes. */
export function bytesPerItem(before: Memory, after: Memory, count: number): number {
  return (after.heap + after.external - before.heap - before.external) / count
}

/** Formats heap, external and resident memory per item, and the items per gigabyte. */
export function memoryRemark(before: Memory, after: Memory, count: number, item: string): string {
  const bytes = (part: keyof Memory) => Math.round((after[part] - before[part]) / count).toLocaleString('en')
  const each = bytesPerItem(before, after, count)
  // Can be negative, because garbage of the process start can be collected meanwhile.
  const many =
    each < 1 ? `too little to measure with ${count.toLocaleString('en')}` : `${rounded(2 ** 30 / each)} a gigabyte`
  return `${bytes('heap')} bytes of heap, ${bytes('external')} external, ${bytes('resident')} resident a ${item}: ${many}`
}

const rounded = (count: number): string => Number(count.toPrecision(3)).toLocaleString('en')
