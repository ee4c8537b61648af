// Run by scale.test.ts in a separate process to measure its heap: `delivery-load.fixture.ts <url> one|many <readers> <entries>`. All
// readers follow one log, or each its own log. Every tenth is slow. Prints one line of JSON.

import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Chunk } from '@millrace/protocol'
import { openStore, StreamManager, type Writer } from '../../index.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void
const [, , url = '', shape = '', ...counts] = process.argv
const [READERS = 0, EACH = 0] = counts.map(Number)
const TOTAL = READERS * EACH

const store = await openStore(url)
const manager = new StreamManager({ store, leaseMs: 600_000 })
const isMany = shape === 'many'
const perAppend = isMany ? 100 : 10
const streams = Array.from({ length: isMany ? READERS : 1 }, (_, i) => `${shape}-${i}`)

let delivered = 0
const readers = Array.from({ length: READERS }, (_, i) => follow(streams[i % streams.length] as string, i % 10 === 0))
const writers = await mapLimit(streams, 50, streamId =>
  manager.createWriter(streamId, { runId: 'run', agentType: 'load' }),
)

const rounds = EACH / perAppend
let tenth = 0
for (let round = 1; round <= rounds; round++) {
  await mapLimit(writers, 200, append)
  if (round % (rounds / 10) > 0) continue
  const heap = await heapOnceDelivered(round * perAppend * READERS)
  tenth ||= heap
  // Retention is bounded, so that a log in memory does not count as memory of readers.
  if (url === 'memory:') for (const { streamId, cursor } of writers) await store.trim(streamId, cursor.sequence)
}
const end = await heapOnceDelivered(TOTAL)
await mapLimit(streams, 200, streamId => manager.endStream(streamId))
const results = await Promise.all(readers)
await manager.close()
await store.close()
console.log(JSON.stringify({ delivered, complete: results.filter(Boolean).length, tenth, end }))

/** One append of data that is never merged. */
async function append(writer: Writer): Promise<void> {
  const chunks: Chunk[] = []
  for (let i = 0; i < perAppend; i++) chunks.push({ type: 'data-load', data: { word: 'two or three words' } })
  await writer.decide(() => chunks)
}

/** Follows a log to its end. Returns whether every entry arrived once and in order. */
async function follow(streamId: string, isSlow: boolean): Promise<boolean> {
  let sequence = 0
  let count = 0
  const reader = manager.readBatches(streamId)
  for (let batch = await reader.next(); batch; batch = await reader.next()) {
    for (const entry of batch.entries) {
      if (entry.sequence !== ++sequence) return false
      if (entry.chunk.type !== 'data-load') continue
      count++
      delivered++
    }
    if (isSlow) for (let i = 0; i < 20; i++) await setImmediate()
  }
  return count === EACH
}

async function heapOnceDelivered(count: number): Promise<number> {
  while (delivered < count) await setImmediate()
  gc()
  return process.memoryUsage().heapUsed
}

async function mapLimit<T, R>(items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const loops = Array.from({ length: Math.min(limit, items.length) }, async () => {
    for (let i = next++; i < items.length; i = next++) results[i] = await work(items[i] as T)
  })
  await Promise.all(loops)
  return results
}
