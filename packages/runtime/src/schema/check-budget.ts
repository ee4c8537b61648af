import { CheckLimitError } from '../error/error.ts'

interface CheckAccount {
  /** Time that is left at `at`, in ms. Negative after a check that took longer than what was left. */
  leftMs: number
  at: number
}

/** Time in which a used up budget becomes full again, in ms. */
const CHECK_WINDOW_MS = 10_000
/** Maximum number of principals in memory. The least recently used one is evicted first. */
const MAX_CHECK_ACCOUNTS = 10_000

/** Limits the time of schema checks per principal. */
export class CheckBudget {
  readonly #budgetMs: number
  readonly #now: () => number
  readonly #accounts = new Map<string | undefined, CheckAccount>()

  /** `budgetMs`: the time of checks per `CHECK_WINDOW_MS`. `now`: a clock in ms. */
  constructor(budgetMs: number, now: () => number) {
    this.#budgetMs = budgetMs
    this.#now = now
  }

  /** @throws {CheckLimitError} if the principal has used up its time. */
  assertHasRoom(principal: string | undefined): void {
    const { leftMs } = this.#account(principal)
    if (leftMs > 0) return
    const budget = `${this.#budgetMs} ms per ${CHECK_WINDOW_MS / 1000} s`
    const retryAfterMs = this.#budgetMs > 0 ? ((1 - leftMs) / this.#budgetMs) * CHECK_WINDOW_MS : CHECK_WINDOW_MS
    const seconds = Math.ceil(retryAfterMs / 1000)
    throw new CheckLimitError(`checks of answers: expected at most ${budget}: retry after ${seconds} s`, retryAfterMs)
  }

  /** Subtracts the time of a check. */
  charge(principal: string | undefined, ms: number): void {
    const account = this.#account(principal)
    account.leftMs -= ms
    this.#accounts.set(principal, account)
    if (this.#accounts.size <= MAX_CHECK_ACCOUNTS) return
    const [oldest] = this.#accounts.keys()
    this.#accounts.delete(oldest)
  }

  /** The account, refilled and moved to the end. A new one is stored by its first charge. */
  #account(principal: string | undefined): CheckAccount {
    const now = this.#now()
    const existing = this.#accounts.get(principal)
    if (existing === undefined) return { leftMs: this.#budgetMs, at: now }
    const refillMs = ((now - existing.at) / CHECK_WINDOW_MS) * this.#budgetMs
    existing.leftMs = Math.min(this.#budgetMs, existing.leftMs + refillMs)
    existing.at = now
    this.#accounts.delete(principal)
    this.#accounts.set(principal, existing)
    return existing
  }
}
