import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { LogStore, StreamManager, Writer } from '@millrace/log'
import type { Chunk, Cursor } from '@millrace/protocol'
import { onCleanup, openOnce } from '../../harness/cleanup.ts'
import { serviceUrl } from '../../harness/services.ts'
import type { Backend, FollowedTarget, Target } from './target.ts'

/** Postgres connections, for ours and for the raw client: as many as appends in flight. */
export const POOL_SIZE = 16
/** Longer than any measurement, so that the lease is never renewed during one. */
const LEASE_MS = 600_000

/** Logs that are appended to directly through the store. */
export async function storeTarget(backend: Backend, count: number): Promise<Target> {
  const store = await openStore(backend, OWN_FILE)
  const logs = await createAll(count, () => createClaimedLog(store))
  const log = (n: number) => logs[n] as OpenLog
  return {
    async append(n, { texts, body }) {
      const { streamId, epoch, cursor } = log(n)
      const by = { epoch, counter: ++log(n).counter, lastAcked: cursor }
      const result = await store.append(streamId, { body, count: texts.length }, by)
      if (result.outcome !== 'appended') throw new Error(`append: expected appended, found ${result.outcome}`)
      log(n).cursor = { sequence: result.last, incarnation: cursor.incarnation, epoch }
    },
    head: n => log(n).cursor.sequence,
    async read(n, from, to) {
      const bodies: string[] = []
      for (let at = from; at < to; ) {
        const page = await store.read(log(n).streamId, { sequence: at }, { batches: 1000, bytes: 1e6 })
        const batches = page?.batches.filter(({ last }) => last <= to) ?? []
        bodies.push(...batches.map(({ body }) => body))
        at = batches.at(-1)?.last ?? to
      }
      return bodies
    },
    expected: ({ body }) => [body],
  }
}

/** Logs with a writer and a started run each. A batch is one commit. */
export async function writerTarget(backend: Backend, count: number): Promise<FollowedTarget> {
  const manager = await openManager(backend, OWN_FILE)
  const writers = await createAll(count, () => startedWriter(manager))
  const writer = (n: number) => writers[n] as Writer
  return {
    async append(n, { chunks }) {
      const { outcome } = await writer(n).commit(chunks)
      if (outcome !== 'appended') throw new Error(`commit: expected appended, found ${outcome}`)
    },
    head: n => writer(n).cursor.sequence,
    async read(n, from, to) {
      const chunks: Chunk[] = []
      const reader = manager.readBatches(writer(n).streamId, { after: from, includeDiscarded: true })
      for (let at = from; at < to; ) {
        const batch = await reader.next()
        for (const { chunk, sequence } of batch?.entries ?? []) if (sequence <= to) chunks.push(chunk)
        at = batch?.sequence ?? to
      }
      reader.close()
      return chunks
    },
    expected: ({ chunks }) => chunks,
    chunks: ({ chunks }) => chunks,
    async follow(onEntries) {
      for (const [n, { streamId, cursor }] of writers.entries()) {
        const reader = manager.readBatches(streamId, { after: cursor.sequence, follow: true })
        onCleanup(() => reader.close())
        void (async () => {
          for (let batch = await reader.next(); batch; batch = await reader.next()) onEntries(n, batch.entries)
        })()
      }
    },
  }
}

/** SQLite file name of this process. */
export const OWN_FILE = `ours-${randomUUID()}.db`

/** Our store, one per process, on the services of the benchmark. */
export const openStore = openOnce(async (backend: Backend, file: string): Promise<LogStore> => {
  const store = await createStore(backend, file)
  onCleanup(() => store.close())
  return store
})

async function createStore(backend: Backend, file: string): Promise<LogStore> {
  switch (backend) {
    case 'memory':
      return (await import('@millrace/log')).memoryStore()
    case 'sqlite':
    case 'sqlite-full': {
      const { sqliteStore } = await import('@millrace/log/sqlite')
      const durability = backend === 'sqlite' ? 'normal' : 'full'
      return sqliteStore({ path: join(serviceUrl('folder'), file), durability })
    }
    case 'redis':
      return (await import('@millrace/log/redis')).redisStore({ url: serviceUrl('redis') })
    case 'postgres': {
      const { postgresStore } = await import('@millrace/log/postgres')
      return postgresStore({ url: serviceUrl('postgres'), poolSize: POOL_SIZE })
    }
  }
}

/** A manager over such a store, with leases that outlast the measurement. */
export const openManager = openOnce(async (backend: Backend, file: string): Promise<StreamManager> => {
  const { StreamManager } = await import('@millrace/log')
  const manager = new StreamManager({ store: await openStore(backend, file), leaseMs: LEASE_MS })
  onCleanup(() => manager.close())
  return manager
})

/** A claimed log and its head. */
interface OpenLog {
  readonly streamId: string
  readonly epoch: string
  counter: number
  cursor: Cursor
}

async function createClaimedLog(store: LogStore): Promise<OpenLog> {
  const streamId = await newStream(store)
  const claim = await store.claim(streamId, 'bench', LEASE_MS, false)
  const head = await store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 0 })
  if (claim.outcome !== 'claimed' || head === undefined)
    throw new Error(`claim: expected claimed, found ${claim.outcome}`)
  const { incarnation, mark } = head
  return { streamId, epoch: claim.epoch, counter: 0, cursor: { sequence: 0, incarnation, epoch: mark } }
}

/** Creates a log and a writer with a started run. */
export async function startedWriter(manager: StreamManager): Promise<Writer> {
  const streamId = await newStream(manager.store)
  const writer = await manager.createWriter(streamId, { runId: 'run-1', agentType: 'writer', step: 1 })
  await writer.commit([{ type: 'start' }])
  return writer
}

/** Creates an empty log. */
async function newStream(store: LogStore): Promise<string> {
  const streamId = `bench-${randomUUID()}`
  await store.create(streamId, null)
  onCleanup(async () => {
    await store.remove(streamId)
  })
  return streamId
}

function createAll<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, make))
}
