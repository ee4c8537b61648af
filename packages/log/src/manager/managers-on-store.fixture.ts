import { setTimeout as pause } from 'node:timers/promises'
import type { LogStore } from '../store/log-store.ts'
import { randomName } from '../store/names.ts'
import { entriesOf, lineOf } from './manager-world.fixture.ts'
import { StreamManager, type StreamManagerOptions } from './stream-manager.ts'

const POLL_MS = 3

/** A store under test, as several processes have it. */
export interface Subject {
  /** Another handle on the same data. `end()` closes it. */
  open(): Promise<LogStore>
}

/** Managers on one store, each with a handle of its own as separate processes have, and logs that no other test uses. */
export class ManagersOnStore {
  readonly #subject: Subject
  readonly #stores: LogStore[] = []
  readonly #managers: StreamManager[] = []
  readonly #ids: string[] = []
  readonly #prefix = randomName()

  constructor(subject: Subject) {
    this.#subject = subject
  }

  /** A manager with a handle of its own, as another process has it. */
  async process(options: Partial<StreamManagerOptions> = {}): Promise<StreamManager> {
    const store = await this.#subject.open()
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

  /** The log, in a line a chunk. */
  async lines(manager: StreamManager, streamId: string): Promise<string[]> {
    return (await entriesOf(manager.store, streamId)).map(lineOf)
  }

  /** Asks again until it is so. */
  async until(holds: () => Promise<boolean>): Promise<void> {
    while (!(await holds())) await pause(POLL_MS)
  }

  async end(): Promise<void> {
    for (const manager of this.#managers) await manager.close()
    const store = await this.#subject.open()
    for (const id of this.#ids) await store.remove(id)
    for (const handle of [store, ...this.#stores]) await handle.close()
  }
}

/** What a manager does on every store alike. */
export interface Behaviour {
  readonly title: string
  run(subject: Subject): Promise<void>
}

/** Declares a behaviour, which runs on managers and logs of its own. */
export function define(title: string, play: (scene: ManagersOnStore) => Promise<void>): Behaviour {
  return {
    title,
    async run(subject) {
      const scene = new ManagersOnStore(subject)
      try {
        await play(scene)
      } finally {
        await scene.end()
      }
    },
  }
}

/** What a reader yields, and a way to wait until it has yielded something. */
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

  /** Waits until it is so; what ends the reading is thrown. */
  async until(holds: (items: readonly T[]) => boolean): Promise<void> {
    while (!holds(this.items)) {
      const isOver = await Promise.race([this.#changed.promise.then(() => false), this.done.then(() => true)])
      if (isOver && !holds(this.items)) throw new Error(`the reading ended after ${this.items.length} items`)
    }
  }
}
