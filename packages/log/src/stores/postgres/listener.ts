import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { type Backoff, backoffMs } from '@millrace/protocol/retry'
import type pg from 'pg'
import { quoteIdentifier } from './statements.ts'

/** Delays between two tries to connect. */
const BACKOFF: Backoff = { firstMs: 50, longestMs: 30_000 }
const PING_INTERVAL_MS = 30_000
const PING_TIMEOUT_MS = 10_000
/** How long the server may take to close a connection, in ms. */
export const CLOSE_TIMEOUT_MS = 1_000

export interface ListenerEvents {
  /** It listens from now on. Earlier notifications are unknown. */
  connected(): void
  notified(payload: string): void
}

/** A connection that listens on a channel, and reconnects when it breaks. */
export class Listener {
  readonly #connect: () => pg.Client
  readonly #channel: string
  readonly #events: ListenerEvents
  readonly #stopping = new AbortController()
  readonly #ended: Promise<void>

  /** `connect` creates a client that is not connected yet. */
  constructor(connect: () => pg.Client, channel: string, events: ListenerEvents) {
    this.#connect = connect
    this.#channel = channel
    this.#events = events
    this.#ended = this.#run()
  }

  stop(): Promise<void> {
    this.#stopping.abort()
    return this.#ended
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    for (let failures = 0; !signal.aborted; failures++) {
      const client = this.#connect()
      if (await this.#listen(client)) failures = 0
      await closeClient(client)
      // With jitter: after a restart of the server every process reconnects.
      await pause(backoffMs(BACKOFF, failures) * (0.5 + Math.random() / 2), undefined, { signal, ref: false }).catch(
        () => {},
      )
    }
  }

  /** Listens until the connection breaks or `stop` is called. Returns whether it listened at all. */
  async #listen(client: pg.Client): Promise<boolean> {
    const { signal } = this.#stopping
    const broken = new AbortController()
    client.on('error', () => broken.abort())
    client.on('end', () => broken.abort())
    client.on('notification', ({ payload = '' }) => this.#events.notified(payload))
    const ended = AbortSignal.any([signal, broken.signal])
    const ping = setInterval(() => {
      client.query(withTimeout('select 1')).catch(() => broken.abort())
    }, PING_INTERVAL_MS).unref()
    try {
      await Promise.race([client.connect(), aborted(ended)])
      if (ended.aborted) return false
      await client.query(withTimeout(`listen ${quoteIdentifier(this.#channel)}`))
      this.#events.connected()
      await aborted(ended)
      return true
    } catch {
      return false
    } finally {
      clearInterval(ping)
    }
  }
}

const withTimeout = (text: string) => ({ text, query_timeout: PING_TIMEOUT_MS })

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

// A dead peer does not answer the end message either.
async function closeClient(client: pg.Client): Promise<void> {
  const timer = setTimeout(() => client.connection.stream.destroy(), CLOSE_TIMEOUT_MS)
  await client.end().catch(() => {})
  clearTimeout(timer)
}
