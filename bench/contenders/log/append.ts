// Appends to several logs, with one append in flight per log: raw, through our store, and through our writers.
import { deepStrictEqual } from 'node:assert/strict'
import { distribute, type EntryBatch, entryBatches } from '../../fixtures/batches.ts'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { storeTarget, writerTarget } from './ours.ts'
import { rawTarget } from './raw.ts'
import type { Backend, Target } from './target.ts'

export type AppendLayer = 'raw' | 'store' | 'writer'

const openTarget: Record<AppendLayer, (backend: Backend, logs: number) => Promise<Target>> = {
  raw: rawTarget,
  store: storeTarget,
  writer: writerTarget,
}

/** The logs of a process. All loads append to the same logs. */
const targetOf = openOnce((layer: AppendLayer, backend: Backend, logs: number) => openTarget[layer](backend, logs))

/** Appends a piece of work in batches, distributed over the logs. */
export async function appendEntries(
  layer: AppendLayer,
  backend: Backend,
  size: number,
  logs: number,
  count: number,
  workIndex: number,
): Promise<Job> {
  const target = await targetOf(layer, backend, logs)
  const shares = distribute(entryBatches(count, workIndex, size), logs)
  return job(
    async () => {
      const from = shares.map((_, log) => target.head(log))
      await appendAll(target, shares)
      return shares.map((_, log) => ({ from: from[log] ?? 0, to: target.head(log) }))
    },
    async ranges => {
      for (const [log, share] of shares.entries()) {
        const { from, to } = ranges[log] ?? { from: 0, to: 0 }
        deepStrictEqual(await target.read(log, from, to), share.flatMap(target.expected))
      }
    },
  )
}

/** Appends the share of each log batch by batch, to all logs concurrently. */
export async function appendAll(target: Target, shares: readonly EntryBatch[][]): Promise<void> {
  await Promise.all(
    shares.map(async (share, log) => {
      for (const batch of share) {
        const done = target.append(log, batch)
        if (done) await done
      }
    }),
  )
}
