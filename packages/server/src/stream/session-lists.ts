import type { StreamManager, Timers } from '@millrace/log'
import type { StreamChannel } from './stream-channel.ts'

/** A session as lists show it. */
export interface SessionSummary {
  readonly sessionId: string
  readonly title?: string
  /** The last text. */
  readonly line?: string
  readonly status: string
  readonly created: number
  readonly updated: number
  readonly sequence: number
}

/** What changed in somebody's list. */
export interface ListChange {
  readonly sessions: readonly SessionSummary[]
  readonly removed: readonly string[]
}

/** How many sessions a list that is followed shows: those touched last. */
export const MAX_LISTED = 50
/** How many of the sessions that it told of a list remembers, those touched last: of these it tells when one is gone. */
export const MAX_WATCHED = 1000
/** How many sessions it asks after at a time. */
const MAX_CHECKED = 50
/** How often a list is looked at for sessions that others made, in milliseconds. */
const REFRESH_MS = 1000
/** How soon it is looked at again where one of its sessions goes on, in milliseconds: a run that streams is no reason to look at each word. */
const MIN_REFRESH_MS = 200

/** The lists that are followed here: one look for all who follow the same. */
export class SessionLists {
  readonly #manager: StreamManager
  readonly #timers: Timers
  readonly #lists = new Map<string | null, FollowedList>()

  constructor(manager: StreamManager, timers: Timers) {
    this.#manager = manager
    this.#timers = timers
  }

  /** How many are followed. */
  get size(): number {
    return this.#lists.size
  }

  /** A page of somebody's sessions, those touched last first. */
  page(principal: string | null, limit: number, after?: string) {
    return pageOf(this.#manager, principal, limit, after)
  }

  /** Calls back with the list as it is, then with each change of it, until stopped; with an error if it cannot be looked at. */
  follow(principal: string | null, listener: ListListener): () => void {
    let list = this.#lists.get(principal)
    if (list === undefined) {
      list = new FollowedList(this.#manager, this.#timers, principal, () => this.#lists.delete(principal))
      this.#lists.set(principal, list)
    }
    return list.join(listener)
  }

  /** A session of somebody's was made here: who follows the list need not wait until it is looked at anyway. */
  sessionCreated(principal: string | null): void {
    this.#lists.get(principal)?.wake()
  }
}

type ListListener = (change: ListChange | undefined, error?: unknown) => void

class FollowedList {
  readonly #manager: StreamManager
  readonly #timers: Timers
  readonly #principal: string | null
  readonly #onIdle: () => void
  readonly #listeners = new Set<ListListener>()
  /** Of the sessions that are remembered; those touched last come last. */
  readonly #watches = new Map<string, () => void>()
  /** Those of them that may be gone. */
  readonly #unsure = new Set<string>()
  /** What the last look saw. */
  #known: ReadonlyMap<string, SessionSummary> | undefined
  #cancel: (() => void) | undefined
  #isRefreshing = false
  #isDirty = false
  #refreshedAt = 0

  constructor(manager: StreamManager, timers: Timers, principal: string | null, onIdle: () => void) {
    this.#manager = manager
    this.#timers = timers
    this.#principal = principal
    this.#onIdle = onIdle
  }

  join(listener: ListListener): () => void {
    this.#listeners.add(listener)
    if (this.#known) listener({ sessions: [...this.#known.values()], removed: [] })
    else void this.#refresh()
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#close()
    }
  }

  /** Looks soon: something may have happened. */
  wake(): void {
    if (this.#isRefreshing) this.#isDirty = true
    else this.#refreshIn(Math.max(0, this.#refreshedAt + MIN_REFRESH_MS - this.#timers.now()))
  }

  #refreshIn(ms: number): void {
    this.#cancel?.()
    this.#cancel = this.#timers.after(ms, () => void this.#refresh(), true)
  }

  async #refresh(): Promise<void> {
    if (this.#isRefreshing) return
    this.#isRefreshing = true
    this.#isDirty = false
    try {
      const { now, hasMore } = await this.#recentSessions()
      const removed = await this.#removed(now, hasMore)
      if (this.#listeners.size > 0) this.#notify(now, removed)
    } catch (error) {
      for (const listener of [...this.#listeners]) listener(undefined, error)
    }
    this.#isRefreshing = false
    this.#refreshedAt = this.#timers.now()
    if (this.#listeners.size > 0) this.#refreshIn(this.#isDirty ? MIN_REFRESH_MS : REFRESH_MS)
  }

  /** The sessions touched last: so many, or all that were touched since the last look if they are more. */
  async #recentSessions(): Promise<{ readonly now: ReadonlyMap<string, SessionSummary>; readonly hasMore: boolean }> {
    const [newest] = this.#known?.values() ?? []
    const since = this.#known ? (newest?.updated ?? 0) : Number.POSITIVE_INFINITY
    const now = new Map<string, SessionSummary>()
    for (let after: string | undefined; ; ) {
      const { sessions, next } = await pageOf(this.#manager, this.#principal, MAX_LISTED, after)
      for (const line of sessions) now.set(line.sessionId, line)
      const isEnough = (sessions.at(-1)?.updated ?? 0) <= since || now.size >= MAX_WATCHED
      if (next === null || isEnough) return { now, hasMore: next !== null }
      after = next
    }
  }

  /** Which sessions are gone, and not only not among those touched last any more. */
  async #removed(now: ReadonlyMap<string, SessionSummary>, hasMore: boolean): Promise<readonly string[]> {
    const missing = [...this.#watches.keys()].filter(sessionId => !now.has(sessionId))
    if (!hasMore) return missing
    // What happened to a session before it was watched woke nobody: once it is not seen any more it is asked after.
    const unsure = missing.filter(sessionId => this.#unsure.has(sessionId) || this.#known?.has(sessionId))
    const asked = unsure.slice(0, MAX_CHECKED)
    this.#unsure.clear()
    for (const sessionId of unsure.slice(MAX_CHECKED)) this.#unsure.add(sessionId)
    if (this.#unsure.size > 0) this.#isDirty = true
    const infos = await Promise.all(asked.map(sessionId => this.#manager.getInfo(sessionId)))
    // Somebody else may have made another of the same name.
    return asked.filter((_, i) => infos[i]?.principal !== this.#principal)
  }

  #notify(now: ReadonlyMap<string, SessionSummary>, removed: readonly string[]): void {
    const before = this.#known
    this.#known = now
    for (const sessionId of removed) this.#unwatch(sessionId)
    for (const sessionId of [...now.keys()].reverse()) this.#watch(sessionId)
    for (const [sessionId] of this.#watches) {
      if (this.#watches.size <= MAX_WATCHED) break
      this.#unwatch(sessionId)
    }
    const sessions = [...now.values()].filter(line => !isSameLine(before?.get(line.sessionId), line))
    if (before && sessions.length === 0 && removed.length === 0) return
    for (const listener of [...this.#listeners]) listener({ sessions, removed })
  }

  #watch(sessionId: string): void {
    const stop = this.#watches.get(sessionId) ?? this.#manager.watch(sessionId, () => this.#woken(sessionId))
    this.#watches.delete(sessionId)
    this.#watches.set(sessionId, stop)
  }

  #woken(sessionId: string): void {
    this.#unsure.add(sessionId)
    this.wake()
  }

  #unwatch(sessionId: string): void {
    this.#watches.get(sessionId)?.()
    this.#watches.delete(sessionId)
    this.#unsure.delete(sessionId)
  }

  #close(): void {
    this.#cancel?.()
    for (const stop of this.#watches.values()) stop()
    this.#watches.clear()
    this.#onIdle()
  }
}

const isSameLine = (a: SessionSummary | undefined, b: SessionSummary): boolean =>
  a !== undefined && a.updated === b.updated && a.status === b.status && a.title === b.title && a.line === b.line

async function pageOf(manager: StreamManager, principal: string | null, limit: number, after?: string) {
  const page = await manager.listStreams(principal ?? undefined, { limit, ...(after !== undefined && { after }) })
  const sessions = page.streams.map(
    ({ streamId, head, status, createdAt, touchedAt, title, line }): SessionSummary => ({
      sessionId: streamId,
      ...(title !== undefined && { title }),
      ...(line !== undefined && { line }),
      status,
      created: createdAt,
      updated: touchedAt,
      sequence: head,
    }),
  )
  return { sessions, next: page.next }
}

/** Somebody's list on one connection: all of it at first, then what changes, until the connection is over; throws where it cannot be looked at. */
export async function followList(lists: SessionLists, principal: string | null, channel: StreamChannel): Promise<void> {
  const closed = Promise.withResolvers<void>()
  const stop = lists.follow(principal, (change, error) => {
    if (change === undefined) return closed.reject(error)
    // Who is too slow for a list is told all of it when it comes back.
    if (channel.isFull) return channel.destroy()
    const text = JSON.stringify({ type: 'sessions', ...change })
    channel.write(Buffer.from(channel.format === 'sse' ? `data: ${text}\n\n` : `${text}\n`))
  })
  channel.signal.addEventListener('abort', () => closed.resolve(), { once: true })
  if (!channel.isOpen) closed.resolve()
  try {
    await closed.promise
  } finally {
    stop()
  }
}
