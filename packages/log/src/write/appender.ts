// The appends of one epoch. Each is retried until its outcome is known; the store recognises a retry by its counter.
// The batches go to the folds and readers of this process at once, so that they do not read them back.

import type { Cursor } from '@millrace/protocol'
import type { AppendListener, OwnAppend } from '../store/append-listener.ts'
import type { NewBlob } from '../store/blobs.ts'
import { DecodedBatch } from '../store/decoded-batch.ts'
import { encodeBatch, type NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import type { Accepted, AppendResult, Batch, LogStore, Wake } from '../store/log-store.ts'
import { versionOf } from '../store/names.ts'
import { retryWhileUnavailable } from '../store/retry.ts'
import type { Timers } from '../store/timers.ts'
import { recordOf, type Ticket, ticketOf } from '../ticket/ticket.ts'
import { TicketWatcher } from './ticket-watcher.ts'

/** The result of a claim, and the state of the log that was read after it. */
export interface Claimed {
  readonly streamId: string
  readonly epoch: string
  readonly cursor: Cursor
  readonly ticket: Ticket
  readonly version: string
}

export class Appender {
  readonly #store: LogStore
  readonly #timers: Timers
  readonly #retryTimeoutMs: number
  readonly #streamId: string
  readonly #epoch: string
  #counter = 0
  #version: string
  cursor: Cursor
  /** The last sequence before which no other process can have changed the ticket unnoticed. */
  #knownTo: number
  /** The ticket as last read. */
  ticket: Ticket
  /** How often another process's change of the ticket was detected. Decisions from before it are outdated. */
  foreignChanges = 0
  readonly #listeners = new Set<AppendListener>()
  /** The listener of this log's readers, if it has any now. */
  readonly #readers: () => AppendListener | undefined
  #ticketWatcher: TicketWatcher | undefined

  constructor(
    store: LogStore,
    timers: Timers,
    retryTimeoutMs: number,
    claimed: Claimed,
    readers: () => AppendListener | undefined,
  ) {
    this.#readers = readers
    this.#store = store
    this.#timers = timers
    this.#retryTimeoutMs = retryTimeoutMs
    this.#streamId = claimed.streamId
    this.#epoch = claimed.epoch
    this.#version = claimed.version
    this.cursor = claimed.cursor
    this.#knownTo = claimed.cursor.sequence
    this.ticket = claimed.ticket
  }

  /**
   * Calls back on every detected change of the ticket by others, until stopped. `refresh` reads the ticket when no
   * append is in flight.
   */
  watch(onMoved: (ticket: Ticket) => void, refresh: () => Promise<unknown>): void {
    if (this.#ticketWatcher === undefined) {
      const watch = (wake: Wake) => this.#store.watch(this.#streamId, wake)
      this.#ticketWatcher = new TicketWatcher(watch, this.#timers, () => this.#knownTo, refresh)
      this.#listeners.add(this.#ticketWatcher)
    }
    this.#ticketWatcher.add(onMoved)
  }

  /** Calls the listener from the next append on. Returns the function that removes it. */
  listen(listener: AppendListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Stops all callbacks. */
  stop(): void {
    this.#ticketWatcher?.stop()
  }

  /** Appends a batch. With `next`, changes the ticket from the one last read. One append at a time. */
  async append(entries: readonly NewEntry[], blobs: readonly NewBlob[], next?: Ticket): Promise<AppendResult> {
    const batch = encodeBatch(entries)
    const by = { epoch: this.#epoch, counter: ++this.#counter, lastAcked: this.cursor }
    const move = next && { ifVersion: this.#version, next: recordOf(next) }
    // Before the entries that refer to them, so that no reader finds a missing blob.
    for (const { hash, data } of blobs) await this.#call(() => this.#store.putBlob(this.#streamId, hash, data))
    const readers = this.#readers()
    const listeners = readers ? [readers, ...this.#listeners] : [...this.#listeners]
    for (const listener of listeners) listener.sending()
    let append: OwnAppend | undefined
    try {
      const result = await this.#call(() => this.#store.append(this.#streamId, batch, by, move))
      if (result.outcome === 'appended' || result.outcome === 'duplicate') {
        const after = this.cursor
        const { incarnation } = after
        this.cursor = { sequence: result.last, incarnation, epoch: this.#epoch }
        if (next) {
          this.ticket = next
          this.#version = versionOf(result.last, incarnation, this.#epoch)
        }
        const isTicketKnown = result.first <= this.#knownTo + 1
        if (isTicketKnown) this.#knownTo = result.last
        const ticketText = move?.next.state
        append = { after, cursor: this.cursor, batch: this.#batchOf(result, batch, after), isTicketKnown, ticketText }
      }
      return result
    } finally {
      for (const listener of listeners) listener.settled(append)
    }
  }

  #batchOf(result: Accepted, { body }: Batch, after: Cursor): DecodedBatch | undefined {
    const { outcome, first, last, clock: timestamp } = result
    const isKnown = outcome === 'appended' && first === after.sequence + 1
    return isKnown ? new DecodedBatch({ first, last, timestamp, mark: this.#epoch, body }) : undefined
  }

  /** Reads the ticket again. */
  async readTicket(): Promise<void> {
    const after = { sequence: this.cursor.sequence }
    const page = await this.#call(() => this.#store.read(this.#streamId, after, { batches: 0, bytes: 0 }))
    if (page?.incarnation !== this.cursor.incarnation) {
      throw new LogError('fenced', `the log ${this.#streamId} was removed or replaced: claim it again to write`)
    }
    this.#knownTo = page.head
    if (page.version === this.#version) return
    this.ticket = ticketOf(page.ticket)
    this.#version = page.version
    this.foreignChanges++
    this.#ticketWatcher?.moved(this.ticket)
  }

  #call<T>(call: () => Promise<T>): Promise<T> {
    return retryWhileUnavailable(this.#timers, this.#retryTimeoutMs, call)
  }
}
