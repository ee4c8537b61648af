// From just before a write until a reader has it, one write at a time.
import { strictEqual } from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import type { Writer } from '@millrace/log'
import { onCleanup, openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { apart, clock } from './apart.ts'
import type { Spoken, SpokenAnswer } from './latency.child.ts'
import { OWN_FILE, openManager, startedWriter } from './ours.ts'
import type { Backend } from './target.ts'

/** Milliseconds between two writes. */
const PACE = 4

/** Writes the time so many times. */
export async function tellTime(writer: Writer, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    writer.write({ type: 'data-time', data: clock() })
    await pause(PACE)
  }
  await writer.flush()
}

/** A log of this process or of another, followed here: what every write took to arrive. */
const followed = openOnce(async (where: 'here' | 'apart', backend: Backend) => {
  const manager = await openManager(backend, OWN_FILE)
  let [tell, streamId] = [async (_count: number): Promise<unknown> => undefined, '']
  if (where === 'here') {
    const writer = await startedWriter(manager)
    streamId = writer.streamId
    tell = count => tellTime(writer, count)
  } else {
    const other = apart<Spoken, SpokenAnswer>('latency.child.ts')
    const ask = (count: number) => other.ask({ backend, file: OWN_FILE, count })
    streamId = (await ask(0)).streamId
    tell = ask
  }
  const times: number[] = []
  let taken = () => {}
  const head = (await manager.getInfo(streamId))?.head ?? 0
  const reader = manager.readBatches(streamId, { after: head, follow: true })
  onCleanup(() => reader.close())
  void (async () => {
    for (let batch = await reader.next(); batch; batch = await reader.next()) {
      const now = clock()
      for (const { chunk } of batch.entries) {
        if (chunk.type === 'data-time') times.push(now - Number((chunk as { data?: unknown }).data))
      }
      taken()
    }
  })()
  return async (count: number): Promise<number[]> => {
    times.length = 0
    const all = new Promise<void>(done => {
      taken = () => {
        if (times.length >= count) done()
      }
    })
    await tell(count)
    await all
    return [...times]
  }
})

/** The milliseconds that each of so many writes takes to a reader of this process. */
export async function latencies(where: 'here' | 'apart', backend: Backend, count: number): Promise<Job> {
  const listen = await followed(where, backend)
  return job(
    () => listen(count),
    times => strictEqual(times.length, count),
    times => times,
  )
}
