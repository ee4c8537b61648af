import type { Chunk } from '@millrace/protocol'
import type { Backend } from '../log/target.ts'
import type { Address } from '../server/session-server.ts'

/** The server of the readers: ours on a store, plain node http, Hono, or `@durable-streams/server` in memory. */
export type SessionServerName = `ours ${Backend}` | 'http' | 'hono' | 'durable'

/** A session that readers follow from its end. Sessions without appends have no `append`. */
export interface ServedSession {
  readonly address: Address
  append?(chunk: Chunk): void | Promise<void>
}

/** Opens `sessions` sessions. The first `written` of them can be appended to. */
export function openSessions(
  serverName: SessionServerName,
  sessions: number,
  written: number,
): Promise<ServedSession[]> {
  switch (serverName) {
    case 'http':
      return import('./sessions-plain.ts').then(({ sessionsPlain }) => sessionsPlain(sessions))
    case 'hono':
      return import('./sessions-hono.ts').then(({ sessionsHono }) => sessionsHono(sessions))
    case 'durable':
      return import('./sessions-durable.ts').then(({ sessionsDurable }) => sessionsDurable(sessions))
    default:
      return import('./sessions-ours.ts').then(({ sessionsOurs }) =>
        sessionsOurs(serverName.slice('ours '.length) as Backend, sessions, written),
      )
  }
}

/** Sessions of a server without a log: their paths, and a function that writes an entry to their readers. */
export function sessionsAt(
  port: number,
  sessions: number,
  write: (path: string, id: number, data: string) => void | Promise<void>,
): ServedSession[] {
  return Array.from({ length: sessions }, (_, n) => {
    const path = `/${n}`
    let sequence = 0
    return {
      address: { port, path, format: 'events' },
      append: chunk => write(path, ++sequence, JSON.stringify({ sequence, timestamp: Date.now(), chunk })),
    }
  })
}
