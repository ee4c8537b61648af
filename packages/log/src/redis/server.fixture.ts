import { createClient } from 'redis'
import { redis } from '../../../../scripts/services/redis.ts'
import type { Service } from '../../../../scripts/services/server.ts'

/** A Redis of one's own that keeps its data over its end. */
export interface Server extends Service {
  /** Sends a command as an operator would, beside the store. */
  send(...args: string[]): Promise<unknown>
  /** Kills the server, and brings it back with what it had written. */
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
