import { catalogue } from '../catalogue/catalogue.ts'
import type { StructuredDataChunk } from '../catalogue/guards.ts'
import { mismatch, type ProtocolErrorCode } from '../error/protocol-error.ts'
import { childOf, isIndex, kindOf, setChild, writable } from '../json/container.ts'
import { isContainer, type Json, type JsonObject } from '../json/json.ts'
import { MAX_GAP, parsePath } from './path.ts'

/** The state of a structured object. */
export interface StructuredState {
  /** Id of the object. */
  readonly streamId: string
  /** The application's name for this kind of object. */
  readonly dataType: string
  /** `done` after the final data. */
  readonly status: 'streaming' | 'done'
  /** The object so far. */
  readonly data: Json
  /** Id of the schema of the object, if set. */
  readonly schemaId?: string
  /** Version of the schema of the object, if set. */
  readonly schemaVersion?: string
  /** The application's id of the object, if set. */
  readonly id?: string
  /** Id of the workflow node that writes the object, if any. */
  readonly node?: string
}

/**
 * The inverse of one change at a path of the state, such as `.data.items` (`''` is the state itself): truncate an array or
 * a string to `length`, restore the `old` value, or, with neither, remove the value.
 */
export interface StructuredInverse {
  readonly path: string
  readonly length?: number
  readonly old?: Json
}

/** The inverses of all changes since the last commit, oldest first. */
export type StructuredDraft = readonly StructuredInverse[]

/** An accumulator as plain JSON. */
export interface StructuredSnapshot {
  /** The object. Undefined before the first chunk. */
  readonly state?: StructuredState | undefined
  /** The part that a discard takes back. */
  readonly draft?: StructuredDraft | undefined
}

/** A value that can be appended to. */
type Appendable = string | Json[]

/** A node that an inverse of the draft already restores, from the index `from` on. -1 restores the complete value. */
interface UndoMark {
  from: number
  readonly below: Map<string, UndoMark>
}

// No comparison with NaN is true, not even for the key `Infinity`.
const newUndoMark = (): UndoMark => ({ from: Number.NaN, below: new Map() })

/** The field with the value, by kind of chunk. */
const VALUES = { set: 'value', append: 'items', 'text-delta': 'delta', final: 'data' } as const

/** The type that a kind of chunk appends to, which is also the type of its value. Undefined for a kind that replaces. */
export const appendTypeOf = (kind: string): string | undefined =>
  kind === 'append' ? 'array' : kind === 'text-delta' ? 'string' : undefined

const HEADER_FIELDS = Object.keys(
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
 * Builds one structured object in place. A read costs a shallow copy of each container that changed since the last
 * read. A draft costs one inverse for each changed path, regardless of the number of writes (law 11).
 */
export class StructuredAccumulator {
  /** The state is the child '' of a holder, because the path of every inverse starts with an empty segment. */
  #holder: JsonObject = {}
  // Weak, so that a container that was replaced before a read can be collected.
  #owned = new WeakSet<object>()
  #inverses: StructuredInverse[] = []
  // The last path: most chunks write to the same path as the chunk before.
  #path: unknown = {}
  #segments: readonly string[] = []
  #marks = newUndoMark()

  /** Creates an accumulator from a snapshot. */
  static restore({ state, draft = [] }: StructuredSnapshot): StructuredAccumulator {
    const restored = new StructuredAccumulator()
    if (state) restored.#holder = { '': state as unknown as Json }
    for (const { path, ...inverse } of draft) restored.#recordInverse(path.split('.'), inverse)
    return restored
  }

  /**
   * Applies a chunk.
   * @throws ProtocolError for an invalid chunk, which changes nothing.
   */
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
    const growing = appendTypeOf(kind)
    const value = (chunk as Partial<Record<string, Json>>)[VALUES[kind]]
    if (value === undefined || (growing && growing !== kindOf(value))) {
      throw refusal('invalid-chunk', growing ?? 'value', kindOf(value))
    }
    if (growing) this.#append(segments, growing, value as Appendable)
    else this.#set(segments, value)
    // A field that a chunk omits keeps its latest value.
    for (const key of HEADER_FIELDS) this.#assign(key, chunk[key])
    this.#assign('status', kind === 'final' ? 'done' : 'streaming')
  }

  /** Removes the object, also a final one. The stream may start again. */
  invalidate(): void {
    this.#set([''], undefined)
  }

  /** The current state. Later writes do not change it. Returns the same object until the next write. */
  read(): StructuredState | undefined {
    this.#owned = new WeakSet()
    return this.#state
  }

  /** The object and its draft as plain JSON, for `restore`. */
  snapshot(): StructuredSnapshot {
    return { state: this.read(), draft: this.#inverses.slice() }
  }

  /** Makes the draft permanent. */
  commit(): void {
    this.#inverses = []
    this.#marks = newUndoMark()
  }

  /** Reverts all writes since the last commit. */
  discard(): void {
    // This records no new inverses, because the marks cover every path that it touches.
    for (const { path, length, old } of this.#inverses.reverse()) {
      const segments = path.split('.')
      if (length === undefined) this.#set(segments, old)
      else this.#change(segments, target => this.#resize(target as Appendable, length, ''))
    }
    this.commit()
  }

  get #state(): StructuredState | undefined {
    return this.#holder[''] as unknown as StructuredState | undefined
  }

  /** Sets a header field. Most chunks repeat it, so an equal value returns early. */
  #assign(key: keyof StructuredState, value: string | undefined): void {
    if (value !== undefined && value !== this.#state?.[key]) this.#set(['', key], value)
  }

  /** Sets the value at a path, or removes it. */
  #set(segments: readonly string[], value: Json | undefined): void {
    this.#change(segments, old => {
      if (old !== undefined && !Object.is(old, value)) this.#recordInverse(segments, { old })
      return value
    })
  }

  /** Appends to the value at a path, or creates it. */
  #append(segments: readonly string[], kind: string, more: Appendable): void {
    this.#change(segments, old => {
      if (old === undefined) return more
      if (kind !== kindOf(old)) throw conflict(segments, segments.length, kind, kindOf(old))
      if (!more.length) return old
      const { length } = old as Appendable
      this.#recordInverse(segments, { length })
      return this.#resize(old as Appendable, length, more)
    })
  }

  /** Truncates an array or a string to `length`, then appends `more`. Mutates an owned array. */
  #resize(target: Appendable, length: number, more: Appendable): Appendable {
    if (typeof target === 'string') return target.slice(0, length) + more
    const array = writable(target, this.#owned)
    if (array.length > length) array.length = length
    for (const item of more) array.push(item)
    return array
  }

  /** Replaces the value at a path with the result of `change`. `undefined` is a missing value. */
  #change(segments: readonly string[], change: (old: Json | undefined) => Json | undefined): void {
    // Writes only while returning, after the complete path was checked.
    const visit = (node: Json | undefined, depth: number, gap: number): Json | undefined => {
      if (depth === segments.length) return change(node)
      const segment = segments[depth] as string
      const parent = node === undefined ? (isIndex(segment) ? [] : {}) : node
      const array = Array.isArray(parent)
      if (!isContainer(parent) || (array && !isIndex(segment))) {
        throw conflict(segments, depth, isIndex(segment) ? 'array or object' : 'object', kindOf(parent))
      }
      const gaps = array ? gap + Math.max(0, Number(segment) - parent.length) : gap
      if (gaps > MAX_GAP) throw conflict(segments, depth, `at most ${MAX_GAP} places to fill`, gaps)
      const child = childOf(parent, segment)
      const next = visit(child, depth + 1, gaps)
      if (Object.is(next, child)) return node
      if (child === undefined && node !== undefined) {
        if (array) this.#recordInverse(segments.slice(0, depth), { length: parent.length })
        else this.#recordInverse(segments.slice(0, depth + 1), {})
      }
      const target = writable(parent, this.#owned)
      if (next === undefined) delete (target as JsonObject)[segment]
      else setChild(target, segment, next)
      return target
    }
    this.#holder = visit(this.#holder, 0, 0) as JsonObject
  }

  /**
   * Records the inverse of the next change at a path, unless an inverse of this draft covers it already: one for the complete
   * value or for a value above it, or a truncation before it.
   */
  #recordInverse(segments: readonly string[], inverse: Omit<StructuredInverse, 'path'>): void {
    const { length = -1 } = inverse
    let mark = this.#marks
    for (const segment of segments) {
      if (mark.from < 0 || (mark.from >= 0 && Number(segment) >= mark.from)) return
      const next = mark.below.get(segment) ?? newUndoMark()
      mark.below.set(segment, next)
      mark = next
    }
    if (length >= mark.from) return
    mark.from = length
    this.#inverses.push({ path: segments.join('.'), ...inverse })
  }
}
