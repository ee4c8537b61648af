import type { StructuredDataChunk } from '../catalogue/guards.ts'
import { ProtocolError } from '../error.ts'
import { childOf, isIndex, kindOf, putChild, writable } from '../json/container.ts'
import { isContainer, type Json, type JsonObject, putOwn } from '../json/value.ts'
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

/** A state without its data. */
export type StructuredHead = Omit<StructuredState, 'data'>

/**
 * How to take back one change at a path (`''` is the root): cut an array or a string to `length`, put the `old` value
 * back, or, with neither, remove what was not there.
 */
export interface StructuredInverse {
  readonly path: string
  readonly length?: number
  readonly old?: Json
}

/** What was written since the last commit: the head as it was before (`null`: nothing was there) and, oldest first, the inverses. */
export interface StructuredDraft {
  readonly head: StructuredHead | null
  readonly inverses: readonly StructuredInverse[]
}

/** An accumulator as plain JSON. */
export interface StructuredSnapshot {
  readonly state?: StructuredState
  readonly draft?: StructuredDraft
}

/** A place that an inverse of the draft restores: all of it, or, where it has a `length`, what lies from there on. */
interface Mark {
  whole?: boolean
  length?: number
  below?: Map<string, Mark>
}

type Change = StructuredDataChunk['kind'] | 'cut' | 'remove'

const segmentsOf = (path: string): string[] => (path ? path.split('.') : [])

const METADATA = ['dataType', 'schemaId', 'schemaVersion', 'id', 'node'] as const

function payloadOf(chunk: StructuredDataChunk): Json {
  const { kind } = chunk
  const value =
    kind === 'set' ? chunk.value : kind === 'append' ? chunk.items : kind === 'text-delta' ? chunk.delta : chunk.data
  const found = kindOf(value)
  const expected = kind === 'append' ? 'array' : kind === 'text-delta' ? 'string' : 'value'
  if (expected === 'value' ? value === undefined : found !== expected) {
    throw new ProtocolError('invalid-chunk', `structured-data of kind '${kind}': expected ${expected}, found ${found}`)
  }
  return value as Json
}

function conflict(segments: readonly string[], depth: number, expected: string, found: string): ProtocolError {
  const place = depth ? `'${segments.slice(0, depth).join('.')}'` : 'the root'
  return new ProtocolError(
    'path-conflict',
    `path '${segments.join('.')}': expected ${expected} at ${place}, found ${found}`,
  )
}

function checkGap(segments: readonly string[], depth: number, length: number): void {
  if (Number(segments[depth]) > length + MAX_GAP) {
    throw conflict(segments, depth, `an index up to ${length + MAX_GAP}`, `${segments[depth]}`)
  }
}

/** The containers that the rest of a path needs where nothing is yet, around a value. */
function enclose(value: Json, segments: readonly string[], depth: number): Json {
  let made = value
  for (let i = segments.length - 1; i >= depth; i--) {
    const segment = segments[i] as string
    if (isIndex(segment)) {
      checkGap(segments, i, 0)
      const array: Json[] = new Array(Number(segment)).fill(null)
      array.push(made)
      made = array
    } else {
      const object: JsonObject = {}
      putOwn(object, segment, made)
      made = object
    }
  }
  return made
}

/**
 * Builds one structured object in place. A reader costs a shallow copy of each container that changed since the last
 * read. A draft costs one inverse for each place it changed, however often it wrote there (law 11).
 */
export class StructuredAccumulator {
  #state: StructuredState | undefined
  // Weak, because a container that was replaced before anybody read it must not be kept.
  #owned = new WeakSet<object>()
  /** The draft's head: `undefined` without a draft, `null` where nothing was before it, so that no inverse is needed. */
  #head: StructuredHead | null | undefined
  #inverses: StructuredInverse[] = []
  #marks: Mark = {}

  /** An accumulator that goes on where a snapshot was taken. */
  static restore(snapshot: StructuredSnapshot): StructuredAccumulator {
    const restored = new StructuredAccumulator()
    restored.#state = snapshot.state
    restored.#head = snapshot.draft?.head
    for (const { path, length, old } of snapshot.draft?.inverses ?? []) {
      const segments = segmentsOf(path)
      restored.#keep(segments, segments.length, length, old)
    }
    return restored
  }

  /** Applies a chunk, or throws a `ProtocolError` and changes nothing. */
  write(chunk: StructuredDataChunk): void {
    const { streamId, kind } = chunk
    const state = this.#state
    if (state && state.streamId !== streamId) {
      throw new ProtocolError(
        'stream-mismatch',
        `structured-data: expected stream '${state.streamId}', found '${streamId}'`,
      )
    }
    if (state?.status === 'done') {
      throw new ProtocolError(
        'stream-done',
        `structured-data: expected nothing after the final chunk of stream '${streamId}', found kind '${kind}'`,
      )
    }
    const segments = kind === 'final' ? [] : parsePath(chunk.path)
    const data = this.#change(state?.data, kind, payloadOf(chunk), segments, 0) as Json
    this.#open()
    this.#state ??= { streamId, dataType: chunk.dataType, status: 'streaming', data }
    this.#assign('data', data)
    if (kind === 'final') this.#assign('status', 'done')
    // What a chunk does not say again still holds: the latest value of each field stays until another one comes.
    for (const key of METADATA) this.#assign(key, chunk[key])
  }

  /** Takes the whole object away, done or not; the stream may begin anew. */
  invalidate(): void {
    if (!this.#state) return
    this.#keep([], 0, undefined, this.#state.data)
    this.#state = undefined
  }

  /** The object as it is now, which no later write changes; the same one as long as nothing was written. */
  read(): StructuredState | undefined {
    this.#owned = new WeakSet()
    return this.#state
  }

  /** The object and its draft as plain JSON, for `restore`. */
  snapshot(): StructuredSnapshot {
    const state = this.read()
    const head = this.#head
    return {
      ...(state && { state }),
      ...(head !== undefined && { draft: { head, inverses: this.#inverses.slice() } }),
    }
  }

  /** Makes the draft last. */
  commit(): void {
    this.#head = undefined
    this.#inverses = []
    this.#marks = {}
  }

  /** Takes the draft back: the object is as if nothing had been written since the last commit. */
  discard(): void {
    const head = this.#head
    if (head === undefined) return
    let data = this.#state?.data
    // Undoing keeps no new inverses, because the marks cover every place it touches.
    for (const { path, length, old } of this.#inverses.reverse()) {
      const change = length !== undefined ? 'cut' : old !== undefined ? 'set' : 'remove'
      data = this.#change(data, change, length ?? old ?? null, segmentsOf(path), 0)
    }
    this.#state = head ? { ...head, data: data as Json } : undefined
    this.commit()
  }

  /** What a node becomes; writes only on the way back up, when the whole path has been found good. */
  #change(
    node: Json | undefined,
    change: Change,
    value: Json,
    segments: readonly string[],
    depth: number,
  ): Json | undefined {
    if (node === undefined) return enclose(value, segments, depth)
    if (depth === segments.length) return this.#changeLeaf(node, change, value, segments)
    const segment = segments[depth] as string
    const array = Array.isArray(node)
    if (!isContainer(node) || (array && !isIndex(segment))) {
      throw conflict(segments, depth, isIndex(segment) ? 'array or object' : 'object', kindOf(node))
    }
    if (array) checkGap(segments, depth, node.length)
    const child = childOf(node, segment)
    const next = this.#change(child, change, value, segments, depth + 1)
    if (next === child) return node
    if (child === undefined) {
      if (array) this.#keep(segments, depth, node.length)
      else this.#keep(segments, depth + 1)
    }
    const target = writable(node, this.#owned)
    if (Array.isArray(target)) while (target.length < Number(segment)) target.push(null)
    if (next === undefined) delete (target as JsonObject)[segment]
    else putChild(target, segment, next)
    return target
  }

  #changeLeaf(node: Json, change: Change, value: Json, segments: readonly string[]): Json | undefined {
    switch (change) {
      case 'append': {
        if (!Array.isArray(node)) throw conflict(segments, segments.length, 'array', kindOf(node))
        const items = value as Json[]
        if (!items.length) return node
        this.#keep(segments, segments.length, node.length)
        const target = writable(node, this.#owned)
        for (const item of items) target.push(item)
        return target
      }
      case 'text-delta':
        if (typeof node !== 'string') throw conflict(segments, segments.length, 'string', kindOf(node))
        this.#keep(segments, segments.length, node.length)
        return node + value
      case 'cut': {
        if (typeof node === 'string') return node.slice(0, value as number)
        const target = writable(node as Json[], this.#owned)
        target.length = value as number
        return target
      }
      case 'remove':
        return undefined
      default:
        if (node !== value) this.#keep(segments, segments.length, undefined, node)
        return value
    }
  }

  #assign<K extends keyof StructuredState>(key: K, value: StructuredState[K] | undefined): void {
    const state = this.#state as { -readonly [P in keyof StructuredState]: StructuredState[P] }
    if (value === undefined || value === state[key]) return
    const target = writable(state, this.#owned)
    target[key] = value
    this.#state = target
  }

  #open(): void {
    if (this.#head !== undefined) return
    this.#head = null
    if (this.#state) {
      const { data, ...head } = this.#state
      this.#head = head
    }
  }

  /**
   * Keeps how to undo what is about to happen at a place, unless an inverse of this draft undoes it already: one for
   * the whole of the place or of a place above it, or a cut that it lies behind.
   */
  #keep(segments: readonly string[], depth: number, length?: number, old?: Json): void {
    this.#open()
    if (this.#head === null) return
    let mark = this.#marks
    for (let i = 0; i < depth; i++) {
      const segment = segments[i] as string
      if (mark.whole || Number(segment) >= (mark.length ?? Number.NaN)) return
      mark.below ??= new Map()
      const next: Mark = mark.below.get(segment) ?? {}
      mark.below.set(segment, next)
      mark = next
    }
    if (mark.whole || (length !== undefined && mark.length !== undefined)) return
    const path = segments.slice(0, depth).join('.')
    if (length === undefined) mark.whole = true
    else mark.length = length
    this.#inverses.push(length !== undefined ? { path, length } : old !== undefined ? { path, old } : { path })
  }
}
