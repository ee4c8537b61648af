import { randomUUID } from 'node:crypto'
import { createClient } from 'redis'
import { onCleanup } from '../../harness/cleanup.ts'
import { serviceUrl } from '../../harness/services.ts'
import type { RawLogs } from './raw.ts'

type Element = [id: string, fields: string[]]

/** One stream element per entry, a pipeline of XADD per append. A follower uses one blocking XREAD on all its streams. */
export async function rawRedis(): Promise<RawLogs> {
  const prefix = randomUUID()
  const client = await createClient({ url: serviceUrl('redis') }).connect()
  const keys: string[] = []
  const key = (log: number): string => {
    keys[log] ??= `raw:${prefix}:${log}`
    return keys[log]
  }
  onCleanup(async () => {
    await client.unlink(keys)
    await client.close()
  })
  return {
    // Commands of one event loop turn are written together and answered in order.
    async append(log, texts) {
      await Promise.all(texts.map(text => client.sendCommand(['XADD', key(log), '*', 'b', text])))
    },
    async read(log) {
      const elements = (await client.sendCommand(['XRANGE', key(log), '-', '+'])) as unknown as Element[]
      return elements.map(textOf)
    },
    async follow(logs, onTexts) {
      const reader = await client.duplicate().connect()
      let isOpen = true
      onCleanup(() => {
        isOpen = false
        reader.destroy()
      })
      const names = Array.from({ length: logs }, (_, log) => key(log))
      const lastIds = new Map(names.map(name => [name, '0-0']))
      const read = async () => {
        while (isOpen) {
          const command = ['XREAD', 'COUNT', '1000', 'BLOCK', '0', 'STREAMS', ...names, ...lastIds.values()]
          const reply = (await reader.sendCommand(command)) as unknown as Record<string, Element[]>
          for (const [name, elements] of Object.entries(reply)) {
            lastIds.set(name, elements.at(-1)?.[0] ?? '')
            onTexts(names.indexOf(name), elements.map(textOf))
          }
        }
      }
      read().catch(error => {
        if (isOpen) throw error
      })
    },
  }
}

const textOf = ([, fields]: Element): string => fields[1] as string
