import type { Timers } from '@millrace/log'
import { Refusal } from '../errors/refusal.ts'
import type { Limits } from './limits.ts'

interface Account {
  /** How many requests may be made at once, as of `at`. */
  tokens: number
  at: number
  streams: number
  /** How many bytes of bodies and replies are under way. */
  bytes: number
}

/** What one body or reply of a principal takes, for as long as it is under way. */
export interface ByteCount {
  /** Counts bytes in; throws where there are too many. */
  add(bytes: number): void
  /** Counts all of them out. */
  release(): void
}

const MINUTE_MS = 60_000
/** More principals than this are not remembered at a time, but for those with something under way. */
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

  /** Counts the bytes of a body or a reply while it is under way, with all others of a principal. */
  hold(principal: string | null): ByteCount {
    const { heldBytes: most } = this.#limits
    let account: Account | undefined
    let own = 0
    return {
      add: bytes => {
        account ??= this.#account(principal)
        // How large one alone may be is not decided here.
        if (account.bytes > own && account.bytes + bytes > most) {
          throw new Refusal('bytes_limit', `bytes: expected at most ${most} under way at a time: wait for the others`, {
            retryable: true,
            // What was not read of a body is in the way of what comes next.
            headers: { 'retry-after': '5', connection: 'close' },
          })
        }
        account.bytes += bytes
        own += bytes
      },
      release: () => {
        if (account) account.bytes -= own
        own = 0
      },
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
    const account = { tokens: this.#limits.requestsPerMinute, at: this.#timers.now(), streams: 0, bytes: 0 }
    this.#accounts.set(principal, account)
    if (this.#accounts.size > MOST_ACCOUNTS) this.#forget()
    return account
  }

  #forget(): void {
    for (const [principal, { streams, bytes }] of this.#accounts) {
      if (streams > 0 || bytes > 0) continue
      this.#accounts.delete(principal)
      return
    }
  }
}
