import type { Database } from './database.ts'
import { isRolledBack } from './failure.ts'

const PARAMETERS = 9
/** One in this many connections is used for appends: more would cost the server more commits for the same appends. */
const POOL_SHARE = 3
const MAX_GROUP_APPENDS = 32
const MAX_GROUP_CHARACTERS = 1024 * 1024
/** How long an append in a group may wait for its log's lock, in ms. */
const LOCK_TIMEOUT_MS = 100

interface QueuedAppend {
  readonly key: string
  readonly body: string | null
  readonly values: readonly unknown[]
  readonly resolve: (result: string) => void
  readonly reject: (error: unknown) => void
}

/**
 * Queued plain appends of writers. While a slot is free, each append is sent at once in its own transaction. Appends
 * that arrive while all slots are in use are sent together in one transaction when a slot is free. So appends to many
 * logs cost the server few commits, and leave most of the pool to other calls.
 */
export class AppendQueue {
  readonly #database: Database
  readonly #slots: number
  readonly #append: string
  readonly #texts: string[] = []
  readonly #queue: QueuedAppend[] = []
  #inUse = 0

  /** `append` is the name of the SQL function. */
  constructor(database: Database, append: string) {
    this.#database = database
    this.#slots = Math.ceil(database.poolSize / POOL_SHARE)
    this.#append = append
  }

  /** Calls the function and returns its result. The first two parameters are the log's key and the body. */
  append(key: string, body: string | null, rest: readonly unknown[]): Promise<string> {
    return this.#database.guard('append', () => {
      const { promise, resolve, reject } = Promise.withResolvers<string>()
      this.#queue.push({ key, body, values: [key, body, ...rest], resolve, reject })
      this.#next()
      return promise
    })
  }

  #next(): void {
    if (this.#inUse === this.#slots || this.#queue.length === 0) return
    this.#inUse++
    this.#send(this.#take()).finally(() => {
      this.#inUse--
      this.#next()
    })
  }

  #take(): QueuedAppend[] {
    let characters = 0
    const count = this.#queue.findIndex(({ body }, i) => {
      characters += body?.length ?? 0
      return i === MAX_GROUP_APPENDS || (i > 0 && characters > MAX_GROUP_CHARACTERS)
    })
    const group = this.#queue.splice(0, count === -1 ? this.#queue.length : count)
    // All groups use this order, so that no two deadlock.
    return group.sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  async #send(group: readonly QueuedAppend[]): Promise<void> {
    if (group.length === 1) return this.#sendAlone(group[0] as QueuedAppend)
    try {
      const results = await this.#sendGroup(group)
      for (const [i, { resolve }] of group.entries()) resolve(String(results[i]))
    } catch (error) {
      // The transaction was undone for all of them, so each is retried alone.
      if (isRolledBack(error)) await Promise.all(group.map(each => this.#sendAlone(each)))
      else for (const { reject } of group) reject(error)
    }
  }

  async #sendAlone({ values, resolve, reject }: QueuedAppend): Promise<void> {
    try {
      const [[result] = []] = await this.#database.run(`select ${this.#callsText(1)}`, values, true)
      resolve(String(result))
    } catch (error) {
      reject(error)
    }
  }

  async #sendGroup(group: readonly QueuedAppend[]): Promise<readonly unknown[]> {
    const text = `select set_config('lock_timeout', '${LOCK_TIMEOUT_MS}', true), ${this.#callsText(group.length)}`
    const parameters = group.flatMap(({ values }) => values)
    const [[, ...results] = []] = await this.#database.run(text, parameters, true)
    return results
  }

  /** The calls of the function for a group of this size, side by side. */
  #callsText(count: number): string {
    this.#texts[count] ??= Array.from({ length: count }, (_, call) => {
      const placeholders = Array.from({ length: PARAMETERS }, (_, index) => `$${call * PARAMETERS + index + 1}`)
      return `${this.#append}(${placeholders.join(', ')})`
    }).join(', ')
    return this.#texts[count]
  }
}
