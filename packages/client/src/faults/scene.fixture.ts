// One schedule: sessions, the tabs that show them, and what happens to all of them, at moments that a seed says.

import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../../../../scripts/faults/random.ts'
import type { House } from './house.fixture.ts'
import { Reader, Tab } from './tab.fixture.ts'

/** What a schedule may take at most, on a machine that has others to do. */
const GIVE_UP_MS = 60_000

interface Waiting {
  readonly holds: () => boolean
  readonly resolve: () => void
}

export class Scene {
  readonly house: House
  readonly random: Random
  readonly sessionIds: readonly string[]
  /** What was done, for who looks at a failure. */
  readonly notes: string[] = []
  readonly tabs: Tab[] = []
  readonly readers: Reader[] = []
  /** By which tabs each call of a client's tool was run. */
  readonly ran = new Map<string, Tab[]>()
  /** How often somebody looked at a screen. */
  looks = 0
  readonly #waiting = new Set<Waiting>()
  readonly #over = new AbortController()
  readonly #late: NodeJS.Timeout
  #isDue = false

  constructor(house: House, random: Random, sessionIds: readonly string[], signal?: AbortSignal) {
    this.house = house
    this.random = random
    this.sessionIds = sessionIds
    this.#late = setTimeout(() => this.#over.abort(), GIVE_UP_MS)
    signal?.addEventListener('abort', () => this.#over.abort(), { signal: this.#over.signal })
    if (signal?.aborted) this.#over.abort()
  }

  /** Is aborted when the schedule is over, or takes too long. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** The one who is there from the start. */
  get first(): Tab {
    return this.tabs[0] as Tab
  }

  /** Opens a tab that shows all sessions. */
  async join(): Promise<Tab> {
    const { random } = this
    const tab = await Tab.open({
      name: `tab ${this.tabs.length + 1}`,
      port: this.house.port,
      sessionIds: this.sessionIds,
      seed: random.below(2 ** 30),
      tamperEvery: random.pick([8, 20, 100_000]),
      flushInterval: random.pick([0, 5, 16]),
      onLook: () => this.look(),
      onTool: (toolCallId, by) => this.#run(toolCallId, by),
    })
    this.tabs.push(tab)
    this.notes.push(`${tab.name} joins after ${this.looks} looks`)
    return tab
  }

  /** Somebody begins to read by the plain loop, by the way of some tab. */
  read(): void {
    const { port } = this.random.pick(this.tabs).gate
    this.readers.push(new Reader(port, this.sessionIds, globalThis.fetch, () => this.look()))
  }

  async #run(toolCallId: string, tab: Tab): Promise<unknown> {
    this.ran.set(toolCallId, [...(this.ran.get(toolCallId) ?? []), tab])
    await this.soon(20)
    return { city: 'Ulm' }
  }

  /** Waits until it holds, as far as anybody can see. */
  async until(what: string, holds: () => boolean): Promise<void> {
    if (holds()) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { holds, resolve }
    const { signal } = this
    const late = () => reject(new Error(`gave up waiting until ${what}`))
    this.#waiting.add(waiting)
    signal.addEventListener('abort', late, { once: true })
    if (signal.aborted) late()
    await promise.finally(() => {
      signal.removeEventListener('abort', late)
      this.#waiting.delete(waiting)
    })
  }

  /** Lets those who wait look again, when whoever changes something has done so. */
  look(): void {
    this.looks++
    if (this.#isDue) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      for (const waiting of [...this.#waiting]) if (waiting.holds()) waiting.resolve()
    })
  }

  /** From now on nothing happens to anybody any more. */
  calm(): void {
    for (const tab of this.tabs) tab.calm()
  }

  leave(): void {
    clearTimeout(this.#late)
    this.#over.abort()
    for (const reader of this.readers) reader.close()
    for (const tab of this.tabs) tab.close()
  }

  /** Lets a while pass that nothing else tells of. */
  async soon(most: number): Promise<void> {
    await pause(this.random.below(most * 10) / 10, undefined, { signal: this.signal }).catch(() => {})
  }
}
