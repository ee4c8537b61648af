// Latency from just before a write until a reader receives it, one write at a time.
import { strictEqual } from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Writer } from '@millrace/log'
import { onCleanup, openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import type { WriteReply, WriteRequest } from './latency.child.ts'
import { OWN_FILE, openManager, startedWriter } from './ours.ts'
import { clock, startChild } from './start-child.ts'
import type { Backend } from './target.ts'

/** Interval between two writes, in ms. */
const WRITE_INTERVAL_MS = 4

/** Writes the current time `count` times. */
export async function writeTimes(writer: Writer, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    writer.write({ type: 'data-time', data: clock() })
    await pause(WRITE_INTERVAL_MS)
  }
  await writer.flush()
}

/** A log that this process or a child writes and this process follows. Returns a function that measures `count` writes. */
const openLatencyLog = openOnce(async (writerIn: 'parent' | 'child', backend: Backend) => {
  const manager = await openManager(backend, OWN_FILE)
  let writeMany: (count: number) => Promise<unknown>
  let streamId: string
  if (writerIn === 'parent') {
    const writer = await startedWriter(manager)
    streamId = writer.streamId
    writeMany = count => writeTimes(writer, count)
  } else {
    const child = startChild<WriteRequest, WriteReply>('latency.child.ts')
    const write = (count: number) => child.request({ backend, file: OWN_FILE, count })
    streamId = (await write(0)).streamId
    writeMany = write
  }
  const times: number[] = []
  let onBatch = () => {}
  const head = (await manager.getInfo(streamId))?.head ?? 0
  const reader = manager.readBatches(streamId, { after: head, follow: true })
  onCleanup(() => reader.close())
  void (async () => {
    for (let batch = await reader.next(); batch; batch = await reader.next()) {
      const now = clock()
      for (const { chunk } of batch.entries) {
        if (chunk.type === 'data-time') times.push(now - Number((chunk as { data?: unknown }).data))
      }
      onBatch()
    }
  })()
  return async (count: number): Promise<number[]> => {
    times.length = 0
    const all = new Promise<void>(done => {
      onBatch = () => {
        if (times.length >= count) done()
      }
    })
    await writeMany(count)
    await all
    return [...times]
  }
})

/** Latencies of `count` writes to a reader of this process, in ms. */
export async function latencies(writerIn: 'parent' | 'child', backend: Backend, count: number): Promise<Job> {
  const measure = await openLatencyLog(writerIn, backend)
  return job(
    () => measure(count),
    times => strictEqual(times.length, count),
    times => times,
  )
}
