import { createClient } from 'redis'
import { redis } from '../../../../../scripts/services/redis.ts'
import type { Service } from '../../../../../scripts/services/server.ts'
import { ContractWriter } from '../../contract/writer.ts'
import type { LogStore, Page } from '../../store/log-store.ts'

/** A separate Redis that keeps its data over a restart. */
export interface Server extends Service {
  /** Sends a command as an operator, beside the store. */
  send(...args: string[]): Promise<unknown>
  /** Kills the server, and restarts it with its persisted data. */
  crash(): Promise<void>
}

export async function server(settings: Record<string, string> = {}): Promise<Server> {
  const service = await redis({ settings: { appendonly: 'yes', appendfsync: 'always', ...settings } })
  const { url } = service
  const send = async (...args: string[]) => {
    const client = createClient({ url, socket: { reconnectStrategy: false } })
    client.on('error', () => {})
    await client.connect()
    try {
      return await client.sendCommand<unknown>(args)
    } finally {
      client.destroy()
    }
  }
  const crash = async () => {
    await service.kill()
    await service.restart()
  }
  return { ...service, send, crash }
}

/** Creates a log and its writer. */
export async function newWriter(store: LogStore, streamId: string): Promise<ContractWriter> {
  await store.create(streamId, null)
  const claim = await store.claim(streamId, 'owner', 3_600_000, true)
  if (claim.outcome !== 'claimed') throw new Error(claim.outcome)
  const { head, mark, incarnation } = await headOf(store, streamId)
  return new ContractWriter(store, streamId, claim, { sequence: head, incarnation, epoch: mark })
}

/** The head of an existing log. */
export async function headOf(store: LogStore, streamId: string): Promise<Page> {
  const page = await store.read(streamId, { sequence: 0 }, { batches: 0, bytes: 1 })
  if (page === undefined) throw new Error(`there is no log ${JSON.stringify(streamId)}`)
  return page
}
