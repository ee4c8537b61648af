import { catalogue } from '../catalogue/catalogue.ts'
import type { StructuredDataChunk } from '../catalogue/guards.ts'
import { mismatch, type ProtocolErrorCode } from '../error/protocol-error.ts'
import { childOf, isIndex, kindOf, put, writable } from '../json/container.ts'
import { isContainer, type Json, type JsonObject } from '../json/json.ts'
import { MAX_GAP, parsePath } from './path.ts'

/** A structured object as far as it was built. */
export interface StructuredState {
  readonly streamId: string
  readonly dataType: string
  readonly status: 'streaming' | 'done'
  readonly data: Json
  readonly schemaId?: string
  readonly schemaVersion?: string
  readonly id?: string
  readonly node?: string
}

/**
 * How to take back one change at a path of the state, such as `.data.items` (`''` is the state itself): cut an array or
 * a string to `length`, put the `old` value back, or, with neither, remove what was not there.
 */
export interface StructuredInverse {
  readonly path: string
  readonly length?: number
  readonly old?: Json
}

/** What was written since the last commit, as inverses, oldest first. */
export type StructuredDraft = readonly StructuredInverse[]

/** An accumulator as plain JSON. */
export interface StructuredSnapshot {
  readonly state?: StructuredState | undefined
  readonly draft?: StructuredDraft | undefined
}

/** What grows at its end. */
type Grown = string | Json[]

/** A place of which an inverse of the draft restores what lies from an index on: from -1 on, all of it. */
interface UndoMark {
  from: number
  readonly below: Map<string, UndoMark>
}

// Nothing is beyond NaN, not even the key `Infinity`.
const newUndoMark = (): UndoMark => ({ from: Number.NaN, below: new Map() })

/** Where each kind of chunk has its value. */
const VALUES = { set: 'value', append: 'items', 'text-delta': 'delta', final: 'data' } as const

/** What a kind of chunk goes on with, and so needs there and brings itself; nothing for a kind that replaces. */
export const grownBy = (kind: string): string | undefined =>
  kind === 'append' ? 'array' : kind === 'text-delta' ? 'string' : undefined

const HEAD = Object.keys(
  catalogue['structured-data'].fields,
) as (keyof (typeof catalogue)['structured-data']['fields'])[]

const conflict = (segments: readonly string[], depth: number, expected: string, found: unknown) =>
  mismatch(
    'path-conflict',
    `state${segments.join('.')}`,
    `${expected} at state${segments.slice(0, depth).join('.')}`,
    found,
  )

/**
 * Builds one structured object in place. A reader costs a shallow copy of each container that changed since the last
 * read. A draft costs one inverse for each place it changed, however often it wrote there (law 11).
 */
export class StructuredAccumulator {
  /** The state is the child '' of a holder: '' is also what stands before the first dot of every inverse's path. */
  #holder: JsonObject = {}
  // Weak, because a container that was replaced before anybody read it must not be kept.
  #owned = new WeakSet<object>()
  #inverses: StructuredInverse[] = []
  // Most chunks go on where the last one did; at first there is none.
  #path: unknown = {}
  #segments: readonly string[] = []
  #marks = newUndoMark()

  /** An accumulator that goes on where a snapshot was taken. */
  static restore({ state, draft = [] }: StructuredSnapshot): StructuredAccumulator {
    const restored = new StructuredAccumulator()
    if (state) restored.#holder = { '': state as unknown as Json }
    for (const { path, ...how } of draft) restored.#keep(path.split('.'), how)
    return restored
  }

  /** Applies a chunk, or throws a `ProtocolError` and changes nothing. */
  write(chunk: StructuredDataChunk): void {
    const { streamId, kind } = chunk
    const state = this.#state
    const refusal = (code: ProtocolErrorCode, expected: string, found: string) =>
      mismatch(code, `structured-data '${kind}'`, expected, found)
    if (state && state.streamId !== streamId) {
      throw refusal('stream-mismatch', `stream '${state.streamId}'`, `'${streamId}'`)
    }
    if (state?.status === 'done') throw refusal('stream-done', `'${streamId}' streaming`, 'it done')
    if (kind !== 'final' && chunk.path !== this.#path) {
      this.#segments = ['', 'data', ...parsePath(chunk.path)]
      this.#path = chunk.path
    }
    const segments = kind === 'final' ? ['', 'data'] : this.#segments
    const growing = grownBy(kind)
    const value = (chunk as Partial<Record<string, Json>>)[VALUES[kind]]
    if (value === undefined || (growing && growing !== kindOf(value))) {
      throw refusal('invalid-chunk', growing ?? 'value', kindOf(value))
    }
    if (growing) this.#grow(segments, growing, value as Grown)
    else this.#set(segments, value)
    // What a chunk does not say again still holds: the latest value of each field stays until another one comes.
    for (const key of HEAD) this.#assign(key, chunk[key])
    this.#assign('status', kind === 'final' ? 'done' : 'streaming')
  }

  /** Takes the whole object away, done or not; the stream may begin anew. */
  invalidate(): void {
    this.#set([''], undefined)
  }

  /** The object as it is now, which no later write changes; the same one as long as nothing was written. */
  read(): StructuredState | undefined {
    this.#owned = new WeakSet()
    return this.#state
  }

  /** The object and its draft as plain JSON, for `restore`. */
  snapshot(): StructuredSnapshot {
    return { state: this.read(), draft: this.#inverses.slice() }
  }

  /** Makes the draft last. */
  commit(): void {
    this.#inverses = []
    this.#marks = newUndoMark()
  }

  /** Takes the draft back: the object is as if nothing had been written since the last commit. */
  discard(): void {
    // Undoing keeps no new inverses, because the marks cover every place it touches.
    for (const { path, length, old } of this.#inverses.reverse()) {
      const segments = path.split('.')
      if (length === undefined) this.#set(segments, old)
      else this.#change(segments, grown => this.#resize(grown as Grown, length, ''))
    }
    this.commit()
  }

  get #state(): StructuredState | undefined {
    return this.#holder[''] as unknown as StructuredState | undefined
  }

  /** Sets a field beside the data; most chunks only repeat it, and are spared the way. */
  #assign(key: keyof StructuredState, value: string | undefined): void {
    if (value !== undefined && value !== this.#state?.[key]) this.#set(['', key], value)
  }

  /** Puts a value at a path, or nothing. */
  #set(segments: readonly string[], value: Json | undefined): void {
    this.#change(segments, old => {
      if (old !== undefined && !Object.is(old, value)) this.#keep(segments, { old })
      return value
    })
  }

  /** Goes on with what stands at a path, or makes it. */
  #grow(segments: readonly string[], kind: string, more: Grown): void {
    this.#change(segments, old => {
      if (old === undefined) return more
      if (kind !== kindOf(old)) throw conflict(segments, segments.length, kind, kindOf(old))
      if (!more.length) return old
      const { length } = old as Grown
      this.#keep(segments, { length })
      return this.#resize(old as Grown, length, more)
    })
  }

  /** An array, in place where that is allowed, or a string: cut to a length, and then some more. */
  #resize(grown: Grown, length: number, more: Grown): Grown {
    if (typeof grown === 'string') return grown.slice(0, length) + more
    const array = writable(grown, this.#owned)
    if (array.length > length) array.length = length
    for (const item of more) array.push(item)
    return array
  }

  /** Replaces what stands at a path with what is made of it; `undefined` is nothing, before and after. */
  #change(segments: readonly string[], change: (old: Json | undefined) => Json | undefined): void {
    // Writes only on the way back up, when the whole path has been found good.
    const visit = (node: Json | undefined, depth: number, gap: number): Json | undefined => {
      if (depth === segments.length) return change(node)
      const segment = segments[depth] as string
      const above = node === undefined ? (isIndex(segment) ? [] : {}) : node
      const array = Array.isArray(above)
      if (!isContainer(above) || (array && !isIndex(segment))) {
        throw conflict(segments, depth, isIndex(segment) ? 'array or object' : 'object', kindOf(above))
      }
      const gaps = array ? gap + Math.max(0, Number(segment) - above.length) : gap
      if (gaps > MAX_GAP) throw conflict(segments, depth, `at most ${MAX_GAP} places to fill`, gaps)
      const child = childOf(above, segment)
      const next = visit(child, depth + 1, gaps)
      if (Object.is(next, child)) return node
      if (child === undefined && node !== undefined) {
        if (array) this.#keep(segments.slice(0, depth), { length: above.length })
        else this.#keep(segments.slice(0, depth + 1), {})
      }
      const target = writable(above, this.#owned)
      if (next === undefined) delete (target as JsonObject)[segment]
      else put(target, segment, next)
      return target
    }
    this.#holder = visit(this.#holder, 0, 0) as JsonObject
  }

  /**
   * Keeps how to undo what is about to happen at a place, unless an inverse of this draft undoes it already: one for
   * the whole of the place or of a place above it, or a cut that it lies behind.
   */
  #keep(segments: readonly string[], how: Omit<StructuredInverse, 'path'>): void {
    const { length = -1 } = how
    let mark = this.#marks
    for (const segment of segments) {
      if (mark.from < 0 || (mark.from >= 0 && Number(segment) >= mark.from)) return
      const next = mark.below.get(segment) ?? newUndoMark()
      mark.below.set(segment, next)
      mark = next
    }
    if (length >= mark.from) return
    mark.from = length
    this.#inverses.push({ path: segments.join('.'), ...how })
  }
}
