import type { Timers } from '@millrace/log'
import { HttpError } from '../errors/http-error.ts'
import type { Limits } from './limits.ts'

interface Account {
  /** Tokens of the rate limit at the time `at`. */
  tokens: number
  at: number
  streams: number
  /** Bytes of bodies and replies in flight. */
  bytes: number
}

/** Bytes in flight of one body or reply. */
export interface ByteCount {
  /** Sum of the added bytes. */
  readonly bytes: number
  /** Adds bytes. @throws `bytes_limit` */
  add(bytes: number): void
  /** Replaces the sum, once the size is known. @throws `bytes_limit` if it is larger */
  settle(bytes: number): void
  /** Subtracts all bytes that were added. */
  release(): void
}

const MINUTE_MS = 60_000
/** Maximum number of principals in memory. Principals with something in flight are never evicted. */
const MAX_ACCOUNTS = 10_000

/** Enforces the limits per principal: request rate, open streams and bytes in flight. */
export class Limiter {
  readonly #limits: Limits
  readonly #timers: Timers
  readonly #accounts = new Map<string | null, Account>()

  constructor(limits: Limits, timers: Timers) {
    this.#limits = limits
    this.#timers = timers
  }

  /** Counts a request. @throws `rate_limit` */
  countRequest(principal: string | null): void {
    const { requestsPerMinute: limit } = this.#limits
    const account = this.#account(principal)
    const now = this.#timers.now()
    account.tokens = Math.min(limit, account.tokens + ((now - account.at) / MINUTE_MS) * limit)
    account.at = now
    if (account.tokens < 1) {
      const seconds = Math.min(60, Math.ceil(((1 - account.tokens) * 60) / limit))
      throw new HttpError('rate_limit', `requests: expected at most ${limit} per minute: retry after ${seconds} s`, {
        retryable: true,
        headers: { 'retry-after': String(seconds) },
      })
    }
    account.tokens--
  }

  /** Counts an open stream and returns a function that releases it. @throws `streams_limit` */
  acquireStream(principal: string | null): () => void {
    const { streams: limit } = this.#limits
    const account = this.#account(principal)
    if (account.streams >= limit) {
      throw new HttpError(
        'streams_limit',
        `streams: expected at most ${limit} open at a time: close one, or follow several sessions on one`,
        {
          retryable: true,
          headers: { 'retry-after': '5' },
        },
      )
    }
    account.streams++
    let isReleased = false
    return () => {
      if (!isReleased) account.streams--
      isReleased = true
    }
  }

  /** Creates a counter of the bytes in flight of one body or reply. */
  countBytes(principal: string | null): ByteCount {
    const { inFlightBytes: limit } = this.#limits
    let account: Account | undefined
    let ownBytes = 0
    const count: ByteCount = {
      get bytes() {
        return ownBytes
      },
      add: bytes => {
        account ??= this.#account(principal)
        // A single body or reply is limited elsewhere.
        if (account.bytes > ownBytes && account.bytes + bytes > limit) {
          throw new HttpError(
            'bytes_limit',
            `bytes: expected at most ${limit} in flight at a time: retry when the others are done`,
            {
              retryable: true,
              // The unread rest of the body would block the next request on this connection.
              headers: { 'retry-after': '5', connection: 'close' },
            },
          )
        }
        account.bytes += bytes
        ownBytes += bytes
      },
      settle: bytes => {
        if (bytes > ownBytes) return count.add(bytes - ownBytes)
        if (account) account.bytes -= ownBytes - bytes
        ownBytes = bytes
      },
      release: () => count.settle(0),
    }
    return count
  }

  #account(principal: string | null): Account {
    const existing = this.#accounts.get(principal)
    if (existing) {
      // Moves it to the end: the first entry is the least recently used.
      this.#accounts.delete(principal)
      this.#accounts.set(principal, existing)
      return existing
    }
    const account = { tokens: this.#limits.requestsPerMinute, at: this.#timers.now(), streams: 0, bytes: 0 }
    this.#accounts.set(principal, account)
    if (this.#accounts.size > MAX_ACCOUNTS) this.#evictOne()
    return account
  }

  #evictOne(): void {
    for (const [principal, { streams, bytes }] of this.#accounts) {
      if (streams > 0 || bytes > 0) continue
      this.#accounts.delete(principal)
      return
    }
  }
}
