// The logs that this process has claimed, one writer each.

import type { Cursor, WriterOrigin } from '@millrace/protocol'
import { absentError } from '../store/checks.ts'
import { LogError } from '../store/log-error.ts'
import { randomName } from '../store/names.ts'
import { readHead } from '../store/read-head.ts'
import type { StoreCall } from '../store/retry.ts'
import { mainLaneOrigin, type Ticket, ticketOf } from '../ticket/ticket.ts'
import { Lease } from './lease.ts'
import type { Preamble } from './preamble.ts'
import { type ReadersOf, Writer, type WriterSettings } from './writer.ts'

/** The origin of a writer, and its preamble. */
interface WriterStart {
  readonly origin: WriterOrigin
  readonly preamble: Preamble
}

/** Decides how a writer begins, from the state that was read after the claim. */
export type Begin = (ticket: Ticket, cursor: Cursor) => WriterStart | Promise<WriterStart>

export class Claims {
  readonly #settings: WriterSettings
  readonly #owner: string
  readonly #call: StoreCall
  readonly #readersOf: ReadersOf
  readonly #writers = new Map<string, Writer>()
  /** Claims in flight. */
  readonly #claiming = new Set<Promise<unknown>>()
  #isClosed = false

  constructor(settings: WriterSettings, owner: string, call: StoreCall, readersOf: ReadersOf) {
    this.#settings = settings
    this.#owner = owner
    this.#call = call
    this.#readersOf = readersOf
  }

  /** This process's writer of a log, if it has one. */
  ownWriter(streamId: string): Writer | undefined {
    return this.#writers.get(streamId)
  }

  /** Claims first, reads after the claim, then decides (law 4). */
  async claim(streamId: string, takeover: boolean, begin: Begin): Promise<Writer> {
    const claim = this.#claim(streamId, takeover, begin)
    this.#claiming.add(claim)
    return claim.finally(() => this.#claiming.delete(claim))
  }

  async #claim(streamId: string, takeover: boolean, begin: Begin): Promise<Writer> {
    this.#mustBeOpen()
    const { store, timers, terms } = this.#settings
    const leaseMs = await terms.leaseOfClaim()
    const askedAt = timers.now()
    // A name for this claim only, so that a retry recognises its own claim when the answer was lost.
    const name = `${this.#owner}#${randomName()}`
    let claim = await this.#call(() => store.claim(streamId, name, leaseMs, takeover))
    if (claim.outcome === 'busy' && claim.owner === name) {
      claim = await this.#call(() => store.claim(streamId, name, leaseMs, true))
    }
    if (claim.outcome === 'absent') throw absentError(streamId)
    if (claim.outcome === 'busy') {
      const remainingMs = claim.until - claim.clock
      throw new LogError(
        'busy',
        `${claim.owner} holds the lease of the log ${streamId} for ${remainingMs} ms more: wait, or request a takeover`,
      )
    }
    const { epoch } = claim
    // It is renewed from now on: the reads below may take longer than the lease.
    const lease = new Lease(store, terms, { streamId, epoch, leaseMs, askedAt })
    try {
      const page = await this.#call(() => readHead(store, streamId))
      if (page === undefined)
        throw new LogError('absent', `the log ${streamId} was removed after it was claimed: create it again`)
      const cursor = { sequence: page.head, incarnation: page.incarnation, epoch: page.mark }
      const ticket = ticketOf(page.ticket)
      const claimed = { streamId, epoch, cursor, ticket, version: page.version }
      const { origin, preamble } = await begin(ticket, cursor)
      this.#mustBeOpen()
      const onClose = (closed: Writer) => {
        if (this.#writers.get(streamId) === closed) this.#writers.delete(streamId)
      }
      const writer = new Writer(claimed, lease, origin, this.#settings, preamble, onClose, this.#readersOf)
      // The lease may have been lost meanwhile.
      if (!writer.signal.aborted) this.#writers.set(streamId, writer)
      return writer
    } catch (error) {
      lease.stop()
      await store.release(streamId, epoch).catch(() => {})
      throw error
    }
  }

  /** Runs `work` with this process's writer of a log, or with a temporary claim. */
  async with<T>(streamId: string, work: (writer: Writer) => Promise<T>): Promise<T> {
    const ownWriter = this.ownWriter(streamId)
    if (ownWriter) return work(ownWriter)
    const before = await this.#call(() => readHead(this.#settings.store, streamId))
    if (before === undefined) throw absentError(streamId)
    const writer = await this.claim(streamId, false, (ticket, { sequence }) => {
      const origin = mainLaneOrigin(ticket.run)
      // A released log has no driver to supersede, unless it was written to after the first read.
      const isFree = before.lease === null && before.head === sequence
      const preamble: Preamble = ({ run }) => {
        const isOrphan = !isFree && run !== null && !run.paused
        return isOrphan ? [{ origin, chunk: { type: 'executor-superseded' } }] : []
      }
      return { origin, preamble }
    })
    try {
      return await work(writer)
    } finally {
      await writer.close()
    }
  }

  /** Closes all writers. Later claims are rejected. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#claiming)
    await Promise.allSettled([...this.#writers.values()].map(writer => writer.close()))
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new LogError('closed', 'the manager was closed: create another')
  }
}
