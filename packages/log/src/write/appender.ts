// One epoch's way into a log: append after append, each sent again until its outcome is known. The store tells a repeat by its counter.

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

/** What a claim gave, and what was read after it. */
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
  readonly #patienceMs: number
  readonly #streamId: string
  readonly #epoch: string
  #counter = 0
  #version: string
  cursor: Cursor
  /** As last seen. */
  ticket: Ticket
  /** How often it turned out that somebody else had moved the ticket: what was decided before that was decided on another. */
  surprises = 0
  #lookout: TicketWatcher | undefined

  constructor(store: LogStore, timers: Timers, patienceMs: number, claimed: Claimed) {
    this.#store = store
    this.#timers = timers
    this.#patienceMs = patienceMs
    this.#streamId = claimed.streamId
    this.#epoch = claimed.epoch
    this.#version = claimed.version
    this.cursor = claimed.cursor
    this.ticket = claimed.ticket
  }

  /** Calls back whenever it turns out that somebody else has moved the ticket, until it is stopped; `look` looks, when no append is under way. */
  watch(onMoved: (ticket: Ticket) => void, look: () => Promise<unknown>): void {
    this.#lookout ??= new TicketWatcher(wake => this.#store.watch(this.#streamId, wake), this.#timers, look)
    this.#lookout.add(onMoved)
  }

  /** Calls nobody back any more. */
  stop(): void {
    this.#lookout?.stop()
  }

  /** Appends a batch; with the ticket that follows from it, on the ticket as last seen, where it moves that. One at a time. */
  async append(entries: readonly NewEntry[], blobs: readonly NewBlob[], next?: Ticket): Promise<AppendResult> {
    const batch = encodeBatch(entries)
    const by = { epoch: this.#epoch, counter: ++this.#counter, lastAcked: this.cursor }
    const move = next && { ifVersion: this.#version, next: recordOf(next) }
    // Before the entries that speak of them: a reader never finds a reference to nothing.
    for (const { hash, data } of blobs) await this.#ask(() => this.#store.putBlob(this.#streamId, hash, data))
    this.#lookout?.sent()
    const result = await this.#ask(() => this.#store.append(this.#streamId, batch, by, move))
    if (result.outcome === 'appended' || result.outcome === 'duplicate') {
      const { incarnation, sequence } = this.cursor
      this.#lookout?.appended(result.first === sequence + 1)
      this.cursor = { sequence: result.last, incarnation, epoch: this.#epoch }
      if (next) {
        this.ticket = next
        this.#version = versionOf(result.last, incarnation, this.#epoch)
      }
    }
    return result
  }

  /** Reads the ticket again. */
  async look(): Promise<void> {
    const after = { sequence: this.cursor.sequence }
    const page = await this.#ask(() => this.#store.read(this.#streamId, after, { batches: 0, bytes: 0 }))
    if (page?.incarnation !== this.cursor.incarnation) {
      throw new LogError('fenced', `the log ${this.#streamId} was removed, or is another by now`)
    }
    if (page.version === this.#version) return
    this.ticket = ticketOf(page.ticket)
    this.#version = page.version
    this.surprises++
    this.#lookout?.moved(this.ticket)
  }

  #ask<T>(ask: () => Promise<T>): Promise<T> {
    return retryWhileUnavailable(this.#timers, this.#patienceMs, ask)
  }
}
