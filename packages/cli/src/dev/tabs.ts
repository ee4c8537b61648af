// The tabs of the studio's page, and the open responses of each.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { delayResponse } from './delayed-response.ts'
import type { Delays } from './messages.ts'

/** The header with the id of a tab. */
const TAB_HEADER = 'x-studio-tab'
/** The maximum number of delayed tabs. */
const MAX_TABS = 64
/** A tab without an open response for this time counts as closed, in ms: an open tab always has a stream of the host's events. */
export const TAB_CLOSED_MS = 60_000

export const isTab = (value: unknown): value is string => typeof value === 'string' && /^\w{1,64}$/.test(value)

/** The responses of each tab, which can be reset and delayed. */
export class Tabs {
  readonly #responses = new Map<string, Set<ServerResponse>>()
  readonly #delays = new Map<string, number>()
  /** The close timers of delayed tabs without a response. */
  readonly #closeTimers = new Map<string, NodeJS.Timeout>()
  readonly #onDelayEnd: () => void

  /** `onDelayEnd` is called when a delay ends because its tab is closed. */
  constructor(delays: Delays, onDelayEnd: () => void) {
    this.#onDelayEnd = onDelayEnd
    for (const [tab, ms] of Object.entries(delays)) this.delay(tab, ms)
  }

  get delays(): Delays {
    return Object.fromEntries(this.#delays)
  }

  /** Tracks a response, if the request has a tab id. */
  track(message: IncomingMessage, response: ServerResponse): void {
    const tab = message.headers[TAB_HEADER]
    if (!isTab(tab)) return
    const responses = this.#responses.get(tab) ?? new Set()
    this.#responses.set(tab, responses.add(response))
    response.once('close', () => {
      responses.delete(response)
      if (responses.size === 0 && this.#responses.get(tab) === responses) this.#responses.delete(tab)
      this.#startCloseTimer(tab)
    })
    this.#startCloseTimer(tab)
    delayResponse(response, () => this.#delays.get(tab) ?? 0)
  }

  /** Resets the open responses of a tab. */
  drop(tab: string): void {
    for (const response of this.#responses.get(tab) ?? []) {
      if (response.headersSent && !response.writableEnded) response.socket?.destroy()
    }
  }

  /** Delays all responses of a tab. Returns false if too many tabs are delayed. */
  delay(tab: string, ms: number): boolean {
    if (ms === 0) this.#delays.delete(tab)
    else if (this.#delays.has(tab) || this.#delays.size < MAX_TABS) this.#delays.set(tab, ms)
    else return false
    this.#startCloseTimer(tab)
    return true
  }

  /** Restarts the close timer of a tab. Only a delayed tab without a response has one. */
  #startCloseTimer(tab: string): void {
    clearTimeout(this.#closeTimers.get(tab))
    this.#closeTimers.delete(tab)
    if (!this.#delays.has(tab) || this.#responses.has(tab)) return
    const timer = setTimeout(() => {
      this.#closeTimers.delete(tab)
      this.#delays.delete(tab)
      this.#onDelayEnd()
    }, TAB_CLOSED_MS)
    this.#closeTimers.set(tab, timer.unref())
  }
}
