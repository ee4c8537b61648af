import { CheckBudget } from './check-budget.ts'
import { isCheap } from './is-cheap.ts'
import { type CheckOutcome, performCheck, type SchemaCheck } from './perform-check.ts'
import { relaxSchema } from './relax-schema.ts'
import { NoWorkerThreadsError, SchemaWorker, type SchemaWorkerOptions } from './schema-worker.ts'

/** Default time of checks per principal, in ms per 10 s. */
export const DEFAULT_ANSWER_CHECK_MS = 2000
/** Maximum number of waiting checks of a principal. */
export const MAX_WAITING_PER_PRINCIPAL = 64
/** Maximum cost of a check without worker threads, where nothing aborts it. */
const MAX_COST_WITHOUT_THREADS = 200_000

/** The caller of a check: a principal that answers, the owner of a session that runs, or an MCP server. Callers take turns. Only principals have a budget. */
export type CheckCaller =
  | { readonly kind: 'principal'; readonly principal: string | undefined }
  | { readonly kind: 'owner' | 'server'; readonly id: string }

/** Options of a checker. */
export interface SchemaCheckerOptions {
  /** Time of checks per principal, in ms per 10 s. @default DEFAULT_ANSWER_CHECK_MS */
  readonly answerCheckMs?: number | undefined
  /** A clock, in ms. */
  readonly now: () => number
  /** Options of the worker. @default {} */
  readonly worker?: SchemaWorkerOptions
}

/**
 * Checks values with untrusted schemas. Cheap checks run in this thread, all others in a worker. Close it: otherwise its
 * thread stays.
 */
export class SchemaChecker {
  readonly #worker: SchemaWorker
  readonly #budget: CheckBudget

  constructor({ answerCheckMs = DEFAULT_ANSWER_CHECK_MS, now, worker }: SchemaCheckerOptions) {
    this.#worker = new SchemaWorker(worker)
    this.#budget = new CheckBudget(answerCheckMs, now)
  }

  /**
   * Performs a check of at most `timeoutMs` ms of CPU time.
   * @throws {CheckLimitError} if the principal has used up its time, or too many checks wait.
   * @throws {RunError} `runtime_closed` if the checker is closed.
   */
  async check(check: SchemaCheck, timeoutMs: number, caller: CheckCaller): Promise<CheckOutcome> {
    const isPrincipal = caller.kind === 'principal'
    const assertHasRoom = (): void => {
      if (isPrincipal) this.#budget.assertHasRoom(caller.principal)
    }
    const charge = (ms: number): void => {
      if (isPrincipal) this.#budget.charge(caller.principal, ms)
    }
    assertHasRoom()
    if (isCheap(check)) return inThisThread(check, charge)
    if (this.#worker.isAvailable) {
      const callerKey = isPrincipal ? `principal:${caller.principal ?? ''}` : `${caller.kind}:${caller.id}`
      const maxWaiting = isPrincipal ? MAX_WAITING_PER_PRINCIPAL : Number.POSITIVE_INFINITY
      // The time may be used up while the check waits.
      const hooks = { beforeStart: assertHasRoom, afterEnd: charge }
      try {
        return await this.#worker.run({ caller: callerKey, check, timeoutMs, maxWaiting, ...hooks })
      } catch (error) {
        if (!(error instanceof NoWorkerThreadsError)) throw error
      }
    }
    return withoutThreads(check, charge)
  }

  /** Rejects checks in flight and ends the thread. */
  close(): Promise<void> {
    return this.#worker.close()
  }
}

function inThisThread(check: SchemaCheck, charge: (ms: number) => void): CheckOutcome {
  const startedAt = performance.now()
  try {
    return performCheck(check)
  } finally {
    charge(performance.now() - startedAt)
  }
}

/**
 * Where there are no worker threads, nothing aborts a check. So regular expressions are not checked, and a check that may
 * take long fails.
 */
function withoutThreads(check: SchemaCheck, charge: (ms: number) => void): CheckOutcome {
  let relaxed: SchemaCheck
  try {
    relaxed = { ...check, schema: relaxSchema(check.schema).schema }
  } catch (error) {
    return { failure: (error as Error).message }
  }
  if (isCheap(relaxed, MAX_COST_WITHOUT_THREADS)) return inThisThread(relaxed, charge)
  return { failure: 'it is large or has references, and this platform has no worker threads to check it in' }
}
