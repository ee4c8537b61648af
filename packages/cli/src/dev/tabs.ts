// The tabs of the studio's page, and the open responses of each.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { delayResponse } from './delayed-response.ts'
import type { Delays } from './messages.ts'

/** The header with the id of a tab. */
const TAB_HEADER = 'x-studio-tab'
/** The maximum number of delayed tabs. */
const MAX_TABS = 64
/** A tab without an open response for this time is closed, in ms: an open tab always follows its host. */
export const CLOSED_MS = 60_000

export const isTab = (value: unknown): value is string => typeof value === 'string' && /^\w{1,64}$/.test(value)

/** The responses of each tab, which can be reset and delayed. */
export class Tabs {
  readonly #replies = new Map<string, Set<ServerResponse>>()
  readonly #delays = new Map<string, number>()
  /** The close timers of delayed tabs without a response. */
  readonly #closing = new Map<string, NodeJS.Timeout>()
  readonly #closed: () => void

  /** `closed` is called when a delay ends because its tab is closed. */
  constructor(delays: Delays, closed: () => void) {
    this.#closed = closed
    for (const [tab, ms] of Object.entries(delays)) this.delay(tab, ms)
  }

  get delays(): Delays {
    return Object.fromEntries(this.#delays)
  }

  /** Tracks a response, if the request has a tab id. */
  note(message: IncomingMessage, response: ServerResponse): void {
    const tab = message.headers[TAB_HEADER]
    if (!isTab(tab)) return
    const replies = this.#replies.get(tab) ?? new Set()
    this.#replies.set(tab, replies.add(response))
    response.once('close', () => {
      replies.delete(response)
      if (replies.size === 0 && this.#replies.get(tab) === replies) this.#replies.delete(tab)
      this.#watch(tab)
    })
    this.#watch(tab)
    delayResponse(response, () => this.#delays.get(tab) ?? 0)
  }

  /** Resets the open responses of a tab. */
  drop(tab: string): void {
    for (const response of this.#replies.get(tab) ?? []) {
      if (response.headersSent && !response.writableEnded) response.socket?.destroy()
    }
  }

  /** Delays all responses of a tab. Returns false if too many tabs are delayed. */
  delay(tab: string, ms: number): boolean {
    if (ms === 0) this.#delays.delete(tab)
    else if (this.#delays.has(tab) || this.#delays.size < MAX_TABS) this.#delays.set(tab, ms)
    else return false
    this.#watch(tab)
    return true
  }

  /** Starts the close timer of a tab, only if it is delayed. */
  #watch(tab: string): void {
    clearTimeout(this.#closing.get(tab))
    this.#closing.delete(tab)
    if (!this.#delays.has(tab) || this.#replies.has(tab)) return
    const timer = setTimeout(() => {
      this.#closing.delete(tab)
      this.#delays.delete(tab)
      this.#closed()
    }, CLOSED_MS)
    this.#closing.set(tab, timer.unref())
  }
}
