import { type StreamManager, sessionIdOf, type Timers } from '@millrace/log'
import type { StreamChannel } from './stream-channel.ts'

/** A session in a list. */
export interface SessionSummary {
  /** Id of the session. */
  readonly sessionId: string
  /** Title of the session, if set. */
  readonly title?: string
  /** The latest text, as a preview. */
  readonly line?: string
  /** Status of the latest run: `active`, `paused`, `ended` or `failed`. `active` before the first one. */
  readonly status: string
  /** Time of creation, in ms since 1970. */
  readonly created: number
  /** Time of the last entry, in ms since 1970. */
  readonly updated: number
  /** Sequence of the last entry. */
  readonly sequence: number
}

/** Changes of a session list. */
export interface ListChange {
  /** New and changed sessions. */
  readonly sessions: readonly SessionSummary[]
  /** Ids of the sessions that left the list. */
  readonly removed: readonly string[]
}

/** Number of sessions in a followed list, most recently updated first. */
export const MAX_LISTED = 50
/** Maximum number of sent sessions that a list watches for deletion, most recently updated first. */
export const MAX_WATCHED = 1000
/** Maximum number of sessions checked for deletion at a time. */
const MAX_CHECKED = 50
/** Interval at which a list is refreshed to find sessions created by other processes, in ms. */
const REFRESH_MS = 1000
/** Minimum interval between refreshes caused by activity, in ms: a streaming run must not refresh the list with each delta. */
const MIN_REFRESH_MS = 200

/** The followed lists of this process. All followers of an owner share one. */
export class SessionLists {
  readonly #manager: StreamManager
  readonly #timers: Timers
  readonly #lists = new Map<string | null, FollowedList>()

  constructor(manager: StreamManager, timers: Timers) {
    this.#manager = manager
    this.#timers = timers
  }

  /** Number of followed lists. */
  get size(): number {
    return this.#lists.size
  }

  /** A page of an owner's sessions, most recently updated first. */
  async page(principal: string | null, limit: number, after?: string) {
    const { sessions, next } = await pageOf(this.#manager, principal, limit, after)
    return { sessions: sessions.map(([, session]) => session), next }
  }

  /** Calls back with the whole list, then with each change, until stopped; with an error if a refresh fails. */
  follow(principal: string | null, listener: ListListener): () => void {
    let list = this.#lists.get(principal)
    if (list === undefined) {
      list = new FollowedList(this.#manager, this.#timers, principal, () => this.#lists.delete(principal))
      this.#lists.set(principal, list)
    }
    return list.join(listener)
  }

  /** Refreshes the owner's list soon after this process created a session. */
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
  /** Watches by log, least recently updated first. */
  readonly #watches = new Map<string, () => void>()
  /** Logs of watched sessions that may have been deleted. */
  readonly #maybeDeleted = new Set<string>()
  /** The sessions of the last refresh, by log. */
  #listed: ReadonlyMap<string, SessionSummary> | undefined
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
    if (this.#listed) listener({ sessions: [...this.#listed.values()], removed: [] })
    else void this.#refresh()
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#close()
    }
  }

  /** Schedules a refresh: something may have changed. */
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
      const { recent, hasMore } = await this.#recentSessions()
      const removed = await this.#deletedSessions(recent, hasMore)
      if (this.#listeners.size > 0) this.#notify(recent, removed)
    } catch (error) {
      for (const listener of [...this.#listeners]) listener(undefined, error)
    }
    this.#isRefreshing = false
    this.#refreshedAt = this.#timers.now()
    if (this.#listeners.size > 0) this.#refreshIn(this.#isDirty ? MIN_REFRESH_MS : REFRESH_MS)
  }

  /** The most recently updated sessions: a page, or all that were updated since the last refresh if those are more. */
  async #recentSessions(): Promise<{
    readonly recent: ReadonlyMap<string, SessionSummary>
    readonly hasMore: boolean
  }> {
    const [newest] = this.#listed?.values() ?? []
    const since = this.#listed ? (newest?.updated ?? 0) : Number.POSITIVE_INFINITY
    const recent = new Map<string, SessionSummary>()
    for (let after: string | undefined; ; ) {
      const { sessions, next } = await pageOf(this.#manager, this.#principal, MAX_LISTED, after)
      for (const [streamId, session] of sessions) recent.set(streamId, session)
      const isEnough = (sessions.at(-1)?.[1].updated ?? 0) <= since || recent.size >= MAX_WATCHED
      if (next === null || isEnough) return { recent, hasMore: next !== null }
      after = next
    }
  }

  /** The sessions that were deleted, as opposed to those that only dropped off the page. */
  async #deletedSessions(recent: ReadonlyMap<string, SessionSummary>, hasMore: boolean): Promise<readonly string[]> {
    const missing = [...this.#watches.keys()].filter(streamId => !recent.has(streamId))
    if (!hasMore) return missing
    // A deletion before the watch began wakes nothing: sessions that drop off the page are checked.
    const maybeDeleted = missing.filter(streamId => this.#maybeDeleted.has(streamId) || this.#listed?.has(streamId))
    const checked = maybeDeleted.slice(0, MAX_CHECKED)
    this.#maybeDeleted.clear()
    for (const streamId of maybeDeleted.slice(MAX_CHECKED)) this.#maybeDeleted.add(streamId)
    if (this.#maybeDeleted.size > 0) this.#isDirty = true
    const infos = await Promise.all(checked.map(streamId => this.#manager.getInfo(streamId)))
    // Another owner may have created a session with the same id.
    return checked.filter((_, i) => infos[i]?.principal !== this.#principal)
  }

  #notify(recent: ReadonlyMap<string, SessionSummary>, removed: readonly string[]): void {
    const before = this.#listed
    this.#listed = recent
    for (const streamId of removed) this.#unwatch(streamId)
    for (const streamId of [...recent.keys()].reverse()) this.#watch(streamId)
    for (const [streamId] of this.#watches) {
      if (this.#watches.size <= MAX_WATCHED) break
      this.#unwatch(streamId)
    }
    const changed = [...recent].filter(([streamId, session]) => !isSameSummary(before?.get(streamId), session))
    if (before && changed.length === 0 && removed.length === 0) return
    const sessions = changed.map(([, session]) => session)
    // A session that was created again may have another log.
    const present = new Set(Array.from(recent.values(), ({ sessionId }) => sessionId))
    const change = { sessions, removed: removed.map(sessionIdOf).filter(sessionId => !present.has(sessionId)) }
    for (const listener of [...this.#listeners]) listener(change)
  }

  #watch(streamId: string): void {
    const stop = this.#watches.get(streamId) ?? this.#manager.watch(streamId, () => this.#onWake(streamId))
    this.#watches.delete(streamId)
    this.#watches.set(streamId, stop)
  }

  #onWake(streamId: string): void {
    this.#maybeDeleted.add(streamId)
    this.wake()
  }

  #unwatch(streamId: string): void {
    this.#watches.get(streamId)?.()
    this.#watches.delete(streamId)
    this.#maybeDeleted.delete(streamId)
  }

  #close(): void {
    this.#cancel?.()
    for (const stop of this.#watches.values()) stop()
    this.#watches.clear()
    this.#onIdle()
  }
}

const isSameSummary = (a: SessionSummary | undefined, b: SessionSummary): boolean =>
  a !== undefined && a.updated === b.updated && a.status === b.status && a.title === b.title && a.line === b.line

/** A page of an owner's sessions, with the ids of their logs. */
async function pageOf(manager: StreamManager, principal: string | null, limit: number, after?: string) {
  const page = await manager.listStreams(principal ?? undefined, { limit, ...(after !== undefined && { after }) })
  const sessions = page.streams.map(({ streamId, head, status, createdAt, touchedAt, title, line }) => {
    const summary: SessionSummary = {
      sessionId: sessionIdOf(streamId),
      ...(title !== undefined && { title }),
      ...(line !== undefined && { line }),
      status,
      created: createdAt,
      updated: touchedAt,
      sequence: head,
    }
    return [streamId, summary] as const
  })
  return { sessions, next: page.next }
}

/** Sends a session list on one connection: the whole list, then each change, until the connection ends. @throws if a refresh fails */
export async function followList(lists: SessionLists, principal: string | null, channel: StreamChannel): Promise<void> {
  const closed = Promise.withResolvers<void>()
  const stop = lists.follow(principal, (change, error) => {
    if (change === undefined) return closed.reject(error)
    // A slow client gets the whole list again when it reconnects.
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
