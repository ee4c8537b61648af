// The logs that this process has claimed, one writer each.

import type { Cursor, WriterOrigin } from '@millrace/protocol'
import { LogError } from '../error.ts'
import { randomName } from '../names.ts'
import { type Ticket, ticketOf } from '../ticket/ticket.ts'
import type { PastReader } from './past.ts'
import { rootOf } from './root.ts'
import { type Preamble, Writer, type WriterSettings } from './writer.ts'

/** Decides what the first batch begins with, on what was read after the claim. */
export type Begin = (ticket: Ticket, cursor: Cursor) => Preamble | Promise<Preamble>

export class Claims {
  readonly #settings: WriterSettings
  readonly #past: PastReader
  readonly #owner: string
  readonly #ask: <T>(ask: () => Promise<T>) => Promise<T>
  readonly #writers = new Map<string, Writer>()

  constructor(
    settings: WriterSettings,
    past: PastReader,
    owner: string,
    ask: <T>(ask: () => Promise<T>) => Promise<T>,
  ) {
    this.#settings = settings
    this.#past = past
    this.#owner = owner
    this.#ask = ask
  }

  /** Claims first, reads after the claim, then decides (law 4). */
  async claim(streamId: string, origin: WriterOrigin, takeover: boolean, begin: Begin): Promise<Writer> {
    const { store, timers, leaseMs } = this.#settings
    const askedAt = timers.now()
    // A name for this claim alone: one whose answer was lost on the way is not taken for somebody else's.
    const name = `${this.#owner}#${randomName()}`
    let claim = await this.#ask(() => store.claim(streamId, name, leaseMs, takeover))
    if (claim.outcome === 'busy' && claim.owner === name) {
      claim = await this.#ask(() => store.claim(streamId, name, leaseMs, true))
    }
    if (claim.outcome === 'absent') throw new LogError('absent', `there is no log ${streamId}`)
    if (claim.outcome === 'busy') {
      const left = claim.until - claim.clock
      throw new LogError(
        'busy',
        `${claim.owner} has the log ${streamId} for ${left} ms more: wait, or ask for a takeover`,
      )
    }
    const { epoch } = claim
    try {
      const page = await this.#past.head(streamId)
      if (page === undefined) throw new LogError('absent', `the log ${streamId} was removed`)
      const cursor = { sequence: page.head, incarnation: page.incarnation, epoch: page.mark }
      const ticket = ticketOf(page.ticket)
      const claimed = { streamId, epoch, cursor, ticket, version: page.version, askedAt }
      const preamble = await begin(ticket, cursor)
      const writer = new Writer(claimed, origin, this.#settings, preamble, gone => {
        if (this.#writers.get(streamId) === gone) this.#writers.delete(streamId)
      })
      this.#writers.set(streamId, writer)
      return writer
    } catch (error) {
      await store.release(streamId, epoch).catch(() => {})
      throw error
    }
  }

  /** Works with this process's writer of a log, or with a claim for just this. */
  async with<T>(streamId: string, work: (writer: Writer) => Promise<T>): Promise<T> {
    const own = this.#writers.get(streamId)
    if (own) return work(own)
    const page = await this.#past.head(streamId)
    if (page === undefined) throw new LogError('absent', `there is no log ${streamId}`)
    const origin = rootOf(ticketOf(page.ticket).run)
    const writer = await this.claim(streamId, origin, false, () => now => {
      // Who let the log go is not superseded.
      const isOrphan = page.lease !== null && now.run !== null && !now.run.paused
      return isOrphan ? [{ origin, chunk: { type: 'executor-superseded' } }] : []
    })
    try {
      return await work(writer)
    } finally {
      await writer.close()
    }
  }

  /** Closes all writers. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#writers.values()].map(writer => writer.close()))
  }
}
