// The hooks of an execution that are under way: at work, or waiting for somebody.

/** Why a hook does not go on here: it waits for answers until some time, or another process is to go on. */
export type Parked = { readonly on: readonly string[]; readonly until: number } | 'left'

export class Flights {
  readonly #open = new Map<string, Parked | undefined>()
  /** What each is called. */
  readonly #hooks = new Map<string, string>()
  readonly #onChange: () => void
  /** The hook under way that has no id. */
  #unnamed: string | undefined
  #wereBeside = false

  constructor(onChange: () => void) {
    this.#onChange = onChange
  }

  get size(): number {
    return this.#open.size
  }

  get first(): string | undefined {
    return this.#open.keys().next().value
  }

  /** What a hook under way is called. */
  hookOf(hookId: string): string | undefined {
    return this.#hooks.get(hookId)
  }

  /** Whether some were under way side by side at any time. */
  get wereBeside(): boolean {
    return this.#wereBeside
  }

  /** Whether another may begin beside those under way: only where all of them have ids. */
  admits(id: string | undefined): boolean {
    return this.#open.size === 0 || (id !== undefined && this.#unnamed === undefined)
  }

  /** Whether one by the same id is under way. */
  has(hookId: string): boolean {
    const name = nameOf(hookId)
    return [...this.#open.keys()].some(other => nameOf(other) === name)
  }

  begin(hookId: string, hook: string, isNamed: boolean): void {
    if (!isNamed) this.#unnamed = hookId
    this.#hooks.set(hookId, hook)
    if (this.#open.size > 0) this.#wereBeside = true
    this.set(hookId, undefined)
  }

  /** Notes that a hook waits, or is at work again. */
  set(hookId: string, parked: Parked | undefined): void {
    this.#open.set(hookId, parked)
    this.#onChange()
  }

  end(hookId: string): void {
    if (this.#unnamed === hookId) this.#unnamed = undefined
    this.#open.delete(hookId)
    this.#hooks.delete(hookId)
    this.#onChange()
  }

  /** Whether some are under way, and all of them wait. */
  get areParked(): boolean {
    return this.#open.size > 0 && this.parked.length === this.#open.size
  }

  get parked(): readonly Parked[] {
    return [...this.#open.values()].filter(parked => parked !== undefined)
  }
}

/** The name of a hook without how often it was used. */
const nameOf = (hookId: string): string => hookId.slice(0, hookId.lastIndexOf('.'))
