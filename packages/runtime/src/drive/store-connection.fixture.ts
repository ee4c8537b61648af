import { LogError, type LogStore } from '@millrace/log'

/** A call of the store. */
export interface StoreCall {
  /** Number of the call, starting at 1. */
  readonly n: number
  readonly method: keyof LogStore
}

/** The connection of one process to its store. It counts calls, can fail, and can die with its process. */
export class StoreConnection {
  calls = 0
  /** Number of open watches. */
  watches = 0
  /** Whether calls fail. */
  isUnavailable = false
  /** Called before each call, which waits for it. */
  before: ((call: StoreCall) => unknown) | undefined
  /** Called after the store has executed a call, before the process gets the result. */
  after: ((call: StoreCall) => unknown) | undefined
  #stopped: PromiseWithResolvers<void> | undefined
  #isDead = false
  readonly store: LogStore

  constructor(store: LogStore) {
    this.store = new Proxy(store, {
      get: (_, name) => {
        const method = name as keyof LogStore
        const value = store[method]
        if (typeof value !== 'function') return value
        if (method === 'watch') return (id: string, wake: () => void) => this.#watch(store, id, wake)
        return (...args: unknown[]) => this.#call(method, () => Reflect.apply(value, store, args))
      },
    })
  }

  /** Kills the connection: calls are neither made nor answered. */
  kill(): void {
    this.#isDead = true
    this.#stopped = Promise.withResolvers()
  }

  /** Freezes the process: calls wait until it is thawed. */
  freeze(): void {
    this.#stopped ??= Promise.withResolvers()
  }

  thaw(): void {
    if (this.#isDead) return
    this.#stopped?.resolve()
    this.#stopped = undefined
  }

  async #call(method: keyof LogStore, ask: () => Promise<unknown>): Promise<unknown> {
    const n = ++this.calls
    await this.#stopped?.promise
    await this.before?.({ n, method })
    await this.#stopped?.promise
    if (this.isUnavailable) throw new LogError('unavailable', 'the store is unavailable')
    const answer = await ask()
    await this.after?.({ n, method })
    await this.#stopped?.promise
    return answer
  }

  #watch(store: LogStore, id: string, wake: () => void): () => void {
    this.watches++
    const stop = store.watch(id, () => {
      if (this.#stopped === undefined) wake()
      else void this.#stopped.promise.then(wake)
    })
    let isOpen = true
    return () => {
      if (isOpen) this.watches--
      isOpen = false
      stop()
    }
  }
}
