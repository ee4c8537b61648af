import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { tokenOf } from './name.ts'

// Postgres takes payloads of less than 8000 bytes; a token and its comma are 13.
const TOKENS_A_PAYLOAD = 600
// A message costs the server about as much as an append: with one for each, a busy writer would have half of what the server can do.
const REST_MS = 10

/**
 * Tells other processes which logs changed. It speaks after the commit and not within it, because a NOTIFY inside a transaction lets only one
 * at a time commit in the whole database. The first goes out at once; while it is on its way and a few milliseconds longer the next gathers.
 */
export class Notifier {
  readonly #sender: string
  readonly #send: (payloads: readonly string[]) => Promise<unknown>
  readonly #gathered = new Set<string>()
  #sending: Promise<void> | undefined

  constructor(sender: string, send: (payloads: readonly string[]) => Promise<unknown>) {
    this.#sender = sender
    this.#send = send
  }

  tell(streamId: string): void {
    this.#gathered.add(streamId)
    this.#sending ??= this.#work()
  }

  /** Waits until all that was told is on its way. */
  async told(): Promise<void> {
    await this.#sending
  }

  async #work(): Promise<void> {
    while (this.#gathered.size > 0) {
      const tokens = Array.from(this.#gathered, tokenOf)
      this.#gathered.clear()
      // A message that is lost makes watchers late by a second, no more: they look by themselves.
      await this.#send(payloadsOf(this.#sender, tokens)).catch(() => {})
      await pause(REST_MS)
    }
    this.#sending = undefined
  }
}

/** The channel on which the stores of a schema tell each other. */
export const channelOf = (schema: string): string =>
  `millrace_${createHash('sha256').update(schema).digest('hex').slice(0, 16)}`

/** What a payload says: who sent it, and the tokens of the logs that changed. */
export function readPayload(payload: string): { sender: string; tokens: string[] } {
  const [sender = '', ...tokens] = payload.split(',')
  return { sender, tokens }
}

function payloadsOf(sender: string, tokens: readonly string[]): string[] {
  const payloads: string[] = []
  for (let from = 0; from < tokens.length; from += TOKENS_A_PAYLOAD) {
    payloads.push([sender, ...tokens.slice(from, from + TOKENS_A_PAYLOAD)].join(','))
  }
  return payloads
}
