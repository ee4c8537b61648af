import type { Chunk } from '@millrace/protocol'
import type { Backend } from '../log/target.ts'
import type { Address } from '../server/served.ts'

/** Who holds the readers: ours on a store, plain node http, Hono, or the durable streams of their test server in memory. */
export type Holder = `ours ${Backend}` | 'http' | 'hono' | 'durable'

/** A session of a server that readers follow from its end on; those that are not written to have no way to. */
export interface Held {
  readonly address: Address
  append?(chunk: Chunk): void | Promise<void>
}

/** So many sessions of a server, the first of which, so many, can be appended to. */
export function hold(holder: Holder, sessions: number, written: number): Promise<Held[]> {
  switch (holder) {
    case 'http':
      return import('./hold-plain.ts').then(({ holdPlain }) => holdPlain(sessions))
    case 'hono':
      return import('./hold-hono.ts').then(({ holdHono }) => holdHono(sessions))
    case 'durable':
      return import('./hold-durable.ts').then(({ holdDurable }) => holdDurable(sessions))
    default:
      return import('./hold-ours.ts').then(({ holdOurs }) =>
        holdOurs(holder.slice('ours '.length) as Backend, sessions, written),
      )
  }
}

/** Where the sessions of a server that knows nothing of our log are, and how an entry is written to the readers of each. */
export function heldAt(
  port: number,
  sessions: number,
  write: (path: string, id: number, data: string) => void | Promise<void>,
): Held[] {
  return Array.from({ length: sessions }, (_, n) => {
    const path = `/${n}`
    let sequence = 0
    return {
      address: { port, path, form: 'events' },
      append: chunk => write(path, ++sequence, JSON.stringify({ sequence, timestamp: Date.now(), chunk })),
    }
  })
}
