// The appends of one epoch. Each is retried until its outcome is known; the store recognises a retry by its counter.

import type { Cursor } from '@millrace/protocol'
import type { NewBlob } from '../store/blobs.ts'
import { encodeBatch, type NewEntry } from '../store/entry.ts'
import { LogError } from '../store/log-error.ts'
import type { AppendResult, LogStore } from '../store/log-store.ts'
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
  /** The ticket as last read. */
  ticket: Ticket
  /** How often another process's change of the ticket was detected. Decisions from before it are outdated. */
  foreignChanges = 0
  #ticketWatcher: TicketWatcher | undefined

  constructor(store: LogStore, timers: Timers, retryTimeoutMs: number, claimed: Claimed) {
    this.#store = store
    this.#timers = timers
    this.#retryTimeoutMs = retryTimeoutMs
    this.#streamId = claimed.streamId
    this.#epoch = claimed.epoch
    this.#version = claimed.version
    this.cursor = claimed.cursor
    this.ticket = claimed.ticket
  }

  /**
   * Calls back on every detected change of the ticket by others, until stopped. `refresh` reads the ticket when no
   * append is in flight.
   */
  watch(onMoved: (ticket: Ticket) => void, refresh: () => Promise<unknown>): void {
    this.#ticketWatcher ??= new TicketWatcher(wake => this.#store.watch(this.#streamId, wake), this.#timers, refresh)
    this.#ticketWatcher.add(onMoved)
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
    this.#ticketWatcher?.sent()
    const result = await this.#call(() => this.#store.append(this.#streamId, batch, by, move))
    if (result.outcome === 'appended' || result.outcome === 'duplicate') {
      const { incarnation, sequence } = this.cursor
      this.#ticketWatcher?.appended(result.first === sequence + 1)
      this.cursor = { sequence: result.last, incarnation, epoch: this.#epoch }
      if (next) {
        this.ticket = next
        this.#version = versionOf(result.last, incarnation, this.#epoch)
      }
    }
    return result
  }

  /** Reads the ticket again. */
  async readTicket(): Promise<void> {
    const after = { sequence: this.cursor.sequence }
    const page = await this.#call(() => this.#store.read(this.#streamId, after, { batches: 0, bytes: 0 }))
    if (page?.incarnation !== this.cursor.incarnation) {
      throw new LogError('fenced', `the log ${this.#streamId} was removed or replaced: claim it again to write`)
    }
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
