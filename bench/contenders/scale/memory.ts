import { setTimeout as pause } from 'node:timers/promises'
import { collect } from '../client/heap.ts'

/** What a process holds when all is collected that it need not openSessions, in bytes. */
export interface Memory {
  readonly heap: number
  readonly external: number
  readonly resident: number
}

/** Of fewer nothing can be told, and a test that tries them need not wait. */
const FEW = 100

/** What this process holds, with or without so many, once what was under way has come to its end. */
export async function memory(count: number): Promise<Memory> {
  for (let turn = 0; turn < 4 && count >= FEW; turn++) {
    await pause(100)
    collect()
  }
  const { heapUsed, external, rss } = process.memoryUsage()
  return { heap: heapUsed, external, resident: rss }
}

/** The bytes of heap and of what hangs on it that each of so many takes. */
export function bytesEach(before: Memory, after: Memory, count: number): number {
  return (after.heap + after.external - before.heap - before.external) / count
}

/** The parts of it, and what they amount to. */
export function memoryRemark(before: Memory, after: Memory, count: number, item: string): string {
  const bytes = (part: keyof Memory) => Math.round((after[part] - before[part]) / count).toLocaleString('en')
  const each = bytesEach(before, after, count)
  // What the start of the process left behind may be collected meanwhile.
  const many =
    each < 1 ? `nothing that can be told of ${count.toLocaleString('en')}` : `${rounded(2 ** 30 / each)} a gigabyte`
  return `${bytes('heap')} bytes of heap, ${bytes('external')} external, ${bytes('resident')} resident a ${item}: ${many}`
}

const rounded = (count: number): string => Number(count.toPrecision(3)).toLocaleString('en')
