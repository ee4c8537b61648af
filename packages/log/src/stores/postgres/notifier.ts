import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { tokenOf } from './name.ts'

// Postgres takes payloads of less than 8000 bytes; a token and its comma are 13.
const TOKENS_PER_PAYLOAD = 600
// A message costs the server about as much as an append. With one per append, a busy writer would get half of the
// server's throughput.
const PAUSE_MS = 10

/**
 * Notifies other processes of changed logs. It sends after the commit and not within it, because a NOTIFY inside a
 * transaction serialises all commits of the database. The first message is sent at once; changes are gathered while
 * it is in flight and a few milliseconds longer.
 */
export class Notifier {
  readonly #sender: string
  readonly #send: (payloads: readonly string[]) => Promise<unknown>
  readonly #changed = new Set<string>()
  #sending: Promise<void> | undefined

  constructor(sender: string, send: (payloads: readonly string[]) => Promise<unknown>) {
    this.#sender = sender
    this.#send = send
  }

  notify(streamId: string): void {
    this.#changed.add(streamId)
    this.#sending ??= this.#sendAll()
  }

  /** Waits until all notifications are sent. */
  async flushed(): Promise<void> {
    await this.#sending
  }

  async #sendAll(): Promise<void> {
    while (this.#changed.size > 0) {
      const tokens = Array.from(this.#changed, tokenOf)
      this.#changed.clear()
      // A lost message makes watchers late by a second at most: they poll.
      await this.#send(payloadsOf(this.#sender, tokens)).catch(() => {})
      await pause(PAUSE_MS)
    }
    this.#sending = undefined
  }
}

/** The channel of a schema's stores. */
export const channelOf = (schema: string): string =>
  `millrace_${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`

/** Parses a payload: its sender, and the tokens of the changed logs. */
export function readPayload(payload: string): { sender: string; tokens: string[] } {
  const [sender = '', ...tokens] = payload.split(',')
  return { sender, tokens }
}

function payloadsOf(sender: string, tokens: readonly string[]): string[] {
  const payloads: string[] = []
  for (let from = 0; from < tokens.length; from += TOKENS_PER_PAYLOAD) {
    payloads.push([sender, ...tokens.slice(from, from + TOKENS_PER_PAYLOAD)].join(','))
  }
  return payloads
}
