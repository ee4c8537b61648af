import { setTimeout as pause } from 'node:timers/promises'
import type { StoreUnderTest } from '../contract/index.ts'
import type { LogStore } from '../store/log-store.ts'
import { randomName } from '../store/names.ts'
import { entriesOf, lineOf } from './manager-world.fixture.ts'
import { StreamManager, type StreamManagerOptions } from './stream-manager.ts'

const POLL_MS = 3

/** Managers on one store, each with a separate handle like a process, and logs that no other test uses. */
export class ManagersOnStore {
  readonly #target: Pick<StoreUnderTest, 'open'>
  readonly #stores: LogStore[] = []
  readonly #managers: StreamManager[] = []
  readonly #ids: string[] = []
  readonly #prefix = randomName()

  constructor(target: Pick<StoreUnderTest, 'open'>) {
    this.#target = target
  }

  /** A manager with a separate handle, like another process. */
  async process(options: Partial<StreamManagerOptions> = {}): Promise<StreamManager> {
    const store = await this.#target.open()
    this.#stores.push(store)
    const manager = new StreamManager({ store, ...options })
    this.#managers.push(manager)
    return manager
  }

  /** The id of a log, which `end()` removes. */
  id(label = 'log'): string {
    const id = `${this.#prefix}-${label}`
    this.#ids.push(id)
    return id
  }

  /** The log, one line per chunk. */
  async lines(manager: StreamManager, streamId: string): Promise<string[]> {
    return (await entriesOf(manager.store, streamId)).map(lineOf)
  }

  /** Polls until the condition holds. */
  async until(holds: () => Promise<boolean>): Promise<void> {
    while (!(await holds())) await pause(POLL_MS)
  }

  async end(): Promise<void> {
    for (const manager of this.#managers) await manager.close()
    const store = await this.#target.open()
    for (const id of this.#ids) await store.remove(id)
    for (const handle of [store, ...this.#stores]) await handle.close()
  }
}

/** A behaviour of a manager on every store. */
export interface Behaviour {
  readonly title: string
  run(target: Pick<StoreUnderTest, 'open'>): Promise<void>
}

/** Defines a behaviour, which runs with its own managers and logs. */
export function define(title: string, play: (harness: ManagersOnStore) => Promise<void>): Behaviour {
  return {
    title,
    async run(target) {
      const harness = new ManagersOnStore(target)
      try {
        await play(harness)
      } finally {
        await harness.end()
      }
    },
  }
}

/** Collects the batches of a reader, with a way to wait for them. */
export class Watcher<T> {
  readonly items: T[] = []
  readonly done: Promise<void>
  #changed = Promise.withResolvers<void>()

  constructor(reading: AsyncIterable<T>) {
    this.done = this.#run(reading)
    this.done.catch(() => {})
  }

  async #run(reading: AsyncIterable<T>): Promise<void> {
    try {
      for await (const item of reading) {
        this.items.push(item)
        this.#wake()
      }
    } finally {
      this.#wake()
    }
  }

  #wake(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  /** Waits until the condition holds. Throws the error that ended the reader. */
  async until(holds: (items: readonly T[]) => boolean): Promise<void> {
    while (!holds(this.items)) {
      const isOver = await Promise.race([this.#changed.promise.then(() => false), this.done.then(() => true)])
      if (isOver && !holds(this.items))
        throw new Error(`expected more items, but the reader ended after ${this.items.length}`)
    }
  }
}
