import type { Timers } from '@millrace/log'
import { Refusal } from '../error.ts'
import type { Limits } from './limits.ts'

interface Account {
  /** How many requests may be made at once, as of `at`. */
  tokens: number
  at: number
  streams: number
}

const MINUTE_MS = 60_000
/** More principals than this are not remembered at a time, but for those with open streams. */
const MOST_ACCOUNTS = 10_000

/** Counts what each principal does here, and says when it is too much. */
export class Limiter {
  readonly #limits: Limits
  readonly #timers: Timers
  readonly #accounts = new Map<string | null, Account>()

  constructor(limits: Limits, timers: Timers) {
    this.#limits = limits
    this.#timers = timers
  }

  /** Counts a request; throws where there were too many. */
  request(principal: string | null): void {
    const { requestsPerMinute: most } = this.#limits
    const account = this.#account(principal)
    const now = this.#timers.now()
    account.tokens = Math.min(most, account.tokens + ((now - account.at) / MINUTE_MS) * most)
    account.at = now
    if (account.tokens < 1) {
      const seconds = Math.min(60, Math.ceil(((1 - account.tokens) * 60) / most))
      throw new Refusal('rate_limit', `requests: expected at most ${most} in a minute: wait`, {
        retryable: true,
        headers: { 'retry-after': String(seconds) },
      })
    }
    account.tokens--
  }

  /** Counts a stream in, and gives what counts it out; throws where there are too many. */
  stream(principal: string | null): () => void {
    const { streams: most } = this.#limits
    const account = this.#account(principal)
    if (account.streams >= most) {
      throw new Refusal(
        'streams_limit',
        `streams: expected at most ${most} at a time: close one, or follow several sessions on one`,
        {
          retryable: true,
          headers: { 'retry-after': '5' },
        },
      )
    }
    account.streams++
    let isOut = false
    return () => {
      if (!isOut) account.streams--
      isOut = true
    }
  }

  #account(principal: string | null): Account {
    const known = this.#accounts.get(principal)
    if (known) {
      // The last is who came last: the first is forgotten first.
      this.#accounts.delete(principal)
      this.#accounts.set(principal, known)
      return known
    }
    const account = { tokens: this.#limits.requestsPerMinute, at: this.#timers.now(), streams: 0 }
    this.#accounts.set(principal, account)
    if (this.#accounts.size > MOST_ACCOUNTS) this.#forget()
    return account
  }

  #forget(): void {
    for (const [principal, { streams }] of this.#accounts) {
      if (streams > 0) continue
      this.#accounts.delete(principal)
      return
    }
  }
}
