// The tabs of the studio's page, and the replies that are on their way to each.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { delayResponse } from './delayed-response.ts'
import type { Delays } from './messages.ts'

/** The header by which a page says which tab it is in. */
const TAB_HEADER = 'x-studio-tab'
/** As many tabs may be delayed at once. */
const MOST_TABS = 64
/** A tab without a reply under way for so long is closed, and delayed no more, in milliseconds: one that is open follows its host. */
export const CLOSED_MS = 60_000

export const isTab = (value: unknown): value is string => typeof value === 'string' && /^\w{1,64}$/.test(value)

/** The replies of each tab: they can be cut off, and held. */
export class Tabs {
  readonly #replies = new Map<string, Set<ServerResponse>>()
  readonly #delays = new Map<string, number>()
  /** For each tab that is delayed and has no reply: when it counts as closed. */
  readonly #closing = new Map<string, NodeJS.Timeout>()
  readonly #closed: () => void

  /** `closed` is told when a tab is delayed no more because it is closed. */
  constructor(delays: Delays, closed: () => void) {
    this.#closed = closed
    for (const [tab, ms] of Object.entries(delays)) this.delay(tab, ms)
  }

  get delays(): Delays {
    return Object.fromEntries(this.#delays)
  }

  /** Takes note of a reply, if its tab is told. */
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

  /** Cuts the replies that have begun and go on. */
  drop(tab: string): void {
    for (const response of this.#replies.get(tab) ?? []) {
      if (response.headersSent && !response.writableEnded) response.socket?.destroy()
    }
  }

  /** Holds every piece of a tab's replies from now on; false where too many tabs are held already. */
  delay(tab: string, ms: number): boolean {
    if (ms === 0) this.#delays.delete(tab)
    else if (this.#delays.has(tab) || this.#delays.size < MOST_TABS) this.#delays.set(tab, ms)
    else return false
    this.#watch(tab)
    return true
  }

  /** Whether a tab is closed is found out only where it is delayed. */
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
