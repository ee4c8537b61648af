import { LogError, type LogStore } from '@millrace/log'

/** What is about to be asked of the store. */
export interface Asked {
  /** 1 for the first call, then one more each. */
  readonly n: number
  readonly method: keyof LogStore
}

/** The way from one process to its store: it counts the calls, can be cut, and can go dead with its process. */
export class Wire {
  calls = 0
  /** How many watches are open. */
  watches = 0
  /** Whether calls fail. */
  isCut = false
  /** Called before each call, which waits for it. */
  before: ((asked: Asked) => unknown) | undefined
  /** Called when the store has done what was asked, before the process hears of it. */
  after: ((asked: Asked) => unknown) | undefined
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

  /** No call is answered any more, and none is made: the process is dead. */
  kill(): void {
    this.#isDead = true
    this.#stopped = Promise.withResolvers()
  }

  /** No call gets on its way until it is let go: the process is frozen. */
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
    if (this.isCut) throw new LogError('unavailable', 'the store is out of reach')
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
