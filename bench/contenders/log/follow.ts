// Appends with a reader on every log in the same process. Measures until the readers have received all entries.
import { deepStrictEqual } from 'node:assert/strict'
import { distribute, entryBatches } from '../../fixtures/batches.ts'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { appendAll } from './append.ts'
import { writerTarget } from './ours.ts'
import { rawTarget } from './raw.ts'
import type { Backend, FollowedTarget } from './target.ts'

type FollowLayer = 'raw' | 'writer'

/** Entries that the readers of a process have received since the last reset. */
class Received {
  chunks: unknown[][] = []
  #missing = 0
  #done: (() => void) | undefined

  /** Resets, and resolves when `count` entries are received. */
  expect(logs: number, count: number): Promise<void> {
    this.chunks = Array.from({ length: logs }, () => [])
    this.#missing = count
    return new Promise(done => {
      this.#done = done
    })
  }

  readonly onEntries = (log: number, entries: readonly { chunk: unknown }[]): void => {
    const chunks = this.chunks[log] as unknown[]
    for (const { chunk } of entries) chunks.push(chunk)
    this.#missing -= entries.length
    if (this.#missing <= 0) this.#done?.()
  }
}

const openFollowed = openOnce(
  async (
    layer: FollowLayer,
    backend: Backend,
    logs: number,
  ): Promise<{ target: FollowedTarget; received: Received }> => {
    const target = await (layer === 'raw' ? rawTarget : writerTarget)(backend, logs)
    const received = new Received()
    await target.follow(received.onEntries)
    return { target, received }
  },
)

/** Appends entries to the logs and waits until the readers have received them. */
export async function followEntries(
  layer: FollowLayer,
  backend: Backend,
  size: number,
  logs: number,
  count: number,
  workIndex: number,
): Promise<Job> {
  const { target, received } = await openFollowed(layer, backend, logs)
  const shares = distribute(entryBatches(count, workIndex, size), logs)
  return job(
    async () => {
      const all = received.expect(logs, count)
      await appendAll(target, shares)
      await all
      return received.chunks
    },
    chunks => {
      for (const [log, share] of shares.entries()) deepStrictEqual(chunks[log], share.flatMap(target.chunks))
    },
  )
}
