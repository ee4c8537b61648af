// What the log holds of one execution of a node, asked for hook by hook as its code comes to them again.

import { MillraceError, ValidationError } from '../../error/error.ts'
import { shortKeyOf } from '../../session/key.ts'
import type { At } from './position.ts'
import type { HookRecord, HookResult } from './record.ts'

/** The longest id of a hook, and what of it is in the name of its lane, and in those of the calls below. */
export const LONGEST_ID = 64

export class Replay {
  readonly #at: At
  readonly #scope: string
  /** By hook; what is committed meanwhile is added. */
  readonly #records: Map<string, HookRecord>
  /** How often each name was used. */
  readonly #uses = new Map<string, number>()
  readonly #asked = new Set<string>()
  /** What the log held when the code began, in the order in which it was given, of hooks that were under way alone. */
  readonly #row: readonly string[]
  /** How many of these the code has asked for, one after the other. */
  #passed = 0
  /** What was found to be changed: code that catches it comes no further. */
  #found: MillraceError | undefined

  constructor(at: At, scope: string, records: Map<string, HookRecord>) {
    this.#at = at
    this.#scope = scope
    this.#records = records
    const alone = [...records.values()].filter(({ hookId, given }) => given.beside === undefined && !isPart(hookId))
    this.#row = alone.map(({ hookId }) => hookId)
  }

  /** How many emissions of the execution are in the log, by what they are about. */
  get shown(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { given } of this.#records.values()) {
      for (const [about, count] of Object.entries(given.shown ?? {})) {
        counts.set(about, Math.max(count, counts.get(about) ?? 0))
      }
    }
    return counts
  }

  /** The last place that the log holds in the order of answers. */
  get lastPlace(): number {
    return Math.max(0, ...[...this.#records.values()].map(({ given }) => given.place ?? 0))
  }

  /** How often the execution has failed before. */
  get failures(): number {
    return this.#at.failures ?? 0
  }

  /** The questions that its hooks have asked, and had no answer to when they did. */
  get asked(): readonly string[] {
    return [...this.#records.values()].flatMap(({ given }) => given.asked?.slice(-1) ?? [])
  }

  /** The name of a hook in its run: the execution, its id or else what it is called, and how often that was used. */
  identify(hook: string, id: string | undefined, unnamed: string): string {
    if (id !== undefined && !(typeof id === 'string' && id.length > 0 && id.length <= LONGEST_ID)) {
      throw new ValidationError(`${hook}: id: expected text of 1 to ${LONGEST_ID} characters`)
    }
    const name = id === undefined ? unnamed : `${hook}:${shortKeyOf(id, LONGEST_ID)}`
    const use = (this.#uses.get(name) ?? 0) + 1
    this.#uses.set(name, use)
    return `${this.#scope}${this.#at.execution}/${name}.${use}`
  }

  /** What the log holds of a hook that the code has come to; throws where by its place that is another, or this one was not there. */
  take(hookId: string, hook: string): HookRecord | undefined {
    if (this.#found) throw this.#found
    const known = this.#records.get(hookId)
    this.#asked.add(hookId)
    // What failed in a try before this one is tried again.
    if (known === undefined || (known.given.error && known.given.error.failures < this.failures)) {
      this.#mustBeNext(hookId)
      return undefined
    }
    if (known.hook !== hook) throw this.#changed(`it calls ${hook} where it called ${known.hook} before`)
    this.#mustBeInOrder(known)
    return known
  }

  /** Throws where the code has come to its end without what it was given before. */
  mustBeAtItsEnd(): void {
    if (this.#found) throw this.#found
    const [left] = this.#unasked()
    if (left) throw this.#changed(`it ended without ${left.hookId}, which it was given before`)
  }

  /** Takes down what a commit keeps. */
  note(record: HookRecord): void {
    this.#records.set(record.hookId, record)
  }

  /** What the log holds of a hook, whoever asks. */
  knownOf(hookId: string): HookResult | undefined {
    return this.#records.get(hookId)?.given
  }

  /** What the log holds of the parts of what a hook does, by how their names begin. */
  partsOf(prefix: string): readonly HookResult[] {
    const own = [...this.#records.values()].filter(({ hookId }) => hookId.startsWith(prefix))
    return own.map(({ given }) => given)
  }

  /** What the log holds was asked for before this: unless hooks were under way side by side, this one was not there. */
  #mustBeNext(hookId: string): void {
    const left = this.#unasked()
    if (left.length > 0 && left.every(({ given }) => given.beside === undefined)) {
      throw this.#changed(`it calls ${hookId} before ${left[0]?.hookId}, which it was given before`)
    }
  }

  /** What was given to hooks that were under way alone is asked for in that order. */
  #mustBeInOrder({ hookId, given }: HookRecord): void {
    while (this.#asked.has(this.#row[this.#passed] ?? '')) this.#passed++
    const first = this.#row[this.#passed]
    if (first === undefined || given.beside || this.failures > 0) return
    const isLater = this.#row.indexOf(hookId, this.#passed) >= 0
    if (isLater) throw this.#changed(`it calls ${hookId} before ${first}, which it was given before that`)
  }

  /** What the log holds and the code has not asked for. */
  #unasked(): readonly HookRecord[] {
    // A try after one that failed may go another way.
    if (this.failures > 0) return []
    return [...this.#records.values()].filter(({ hookId }) => !this.#asked.has(hookId) && !isPart(hookId))
  }

  #changed(how: string): MillraceError {
    this.#found = new MillraceError(
      'workflow_changed',
      `the code of node ${this.#at.node} is not what it was when the run came there: ${how}. Give the workflow another version, and say in migrate how such runs go on`,
    )
    return this.#found
  }
}

/** Whether a record is about a part of what a hook does, and not asked for by the code of a node. */
const isPart = (hookId: string): boolean => hookId.split('/').length > 2
