import { mismatch, type ProtocolError, type ProtocolErrorCode, show } from '../error/protocol-error.ts'
import { isIndex, kindOf } from '../json/container.ts'
import { isContainer, type Json, type JsonContainer, putOwn } from '../json/json.ts'
import type { JsonSegment } from '../json/json-parser.ts'
import { type JsonPath, JsonStream } from '../json/json-stream.ts'
import { MAX_GAP, segmentsOf } from './path.ts'
import { appendTypeOf } from './write-chunk.ts'

/** Kind of the updates of a field: `set` when it is complete, `append` item by item, `text-delta` as its text grows. */
export type FieldKind = 'set' | 'append' | 'text-delta'

/** The kind of each declared field, by dotted path. The segment `*` matches any one key or index. */
export type Fields = Readonly<Record<string, FieldKind>>

/** The payload of a `structured-data` chunk, without the ids of its stream. */
export type FieldUpdate =
  | { kind: 'set'; path: string; value: Json }
  | { kind: 'append'; path: string; items: Json[] }
  | { kind: 'text-delta'; path: string; delta: string }

interface Field {
  declared: string
  segments: string[]
  kind: FieldKind
}

/** A node in the tree of declared fields. `field` ends at this node, those in `rest` end below it. */
interface FieldNode {
  field: Field | undefined
  depth: number
  rest: Field[]
  /** The child nodes, created on demand: wildcards and names can combine to too many. */
  keys: Map<string, FieldNode | undefined>
  warned: boolean
}

/** One level of the current path in the document. */
interface PathLevel {
  node: FieldNode
  parent: PathLevel | undefined
  path: string
  /** The number of `null` items that a write here would add at the receiver. */
  gap: number
  /** The length of the array at the receiver; for an object, 1 if the receiver has it. */
  length: number
  /** The key or index that was visited last, and its level if fields are declared there. */
  next: JsonSegment | undefined
  child: PathLevel | undefined
}

/**
 * Turns the streamed text of a JSON document into updates of its declared fields, in document order. The structured reducer
 * accepts all of them, and its result equals the document in every declared field, with two exceptions:
 *
 * - Values without a valid path arrive only with the final object: keys that are empty, `*` or contain a dot; numeric keys
 *   of the root object before any other key was sent (the receiver would create an array); and items after a gap of more
 *   than `MAX_GAP`.
 * - A value that does not fit the kind of its field is omitted.
 *
 * Both are reported in `warnings`, except for `null` values. An object with a numeric first key is first `set` to `{}`. A
 * complete and empty string or array is sent as a `set`. The value of a repeated key is sent as one `set` when it is
 * complete, reduced to the declared fields. So the receiver's data never shrinks before that, and then equals the result of
 * `JSON.parse`. Updates share values with the parser: do not mutate them.
 */
export class FieldWatcher {
  /** The parser, with its value, status and error. */
  readonly json: JsonStream
  /** Values that could not be sent, at most one warning per declared field. */
  readonly warnings: ProtocolError[] = []

  readonly #root: PathLevel
  #updates: FieldUpdate[] | undefined
  /** The level of the open string, or the root if it is not declared. No other report comes between two of its deltas. */
  #open: PathLevel | undefined
  /** The level of the last update, unless that update was an empty object. */
  #lastSent: PathLevel | undefined

  /** @throws ProtocolError `invalid-field` for an invalid path, and for two fields that could write the same value. */
  constructor(fields: Fields) {
    const all = Object.entries(fields).map(parseField)
    for (const [i, field] of all.entries()) for (const other of all.slice(0, i)) rejectOverlap(field, other)
    this.#root = {
      node: fieldNodeOf(all, 0),
      parent: undefined,
      path: '',
      gap: 0,
      length: 0,
      next: undefined,
      child: undefined,
    }
    this.json = new JsonStream({
      onGrow: (delta, path) => {
        this.#open ??= this.#find(path) ?? this.#root
        const level = this.#open
        if (level.node.field?.kind === 'text-delta') this.#send(level, { kind: 'text-delta', path: level.path, delta })
      },
      onComplete: (value, path, repeated) => {
        this.#open = undefined
        const level = this.#find(path)
        if (level) this.#completeValue(level, value, repeated)
        else if (typeof path.at(-1) === 'number') this.#append(this.#find(path, path.length - 1), value)
      },
    })
  }

  /** Parses the next piece of text and returns its updates. Never throws. */
  push(delta: string): FieldUpdate[] {
    this.#updates = undefined
    this.json.push(delta)
    return this.#updates ?? []
  }

  /** Ends the text. Returns whether the document is complete. */
  end(): boolean {
    return this.json.end()
  }

  /** The level at a path, or at its first `depth` segments. Undefined if no fields are declared there. */
  #find(path: JsonPath, depth = path.length): PathLevel | undefined {
    let level: PathLevel | undefined = this.#root
    for (let i = 0; level && i < depth; i++) {
      const segment = path[i] as JsonSegment
      if (level.next !== segment) {
        level.next = segment
        level.child = this.#enter(level, segment)
      }
      level = level.child
    }
    return level
  }

  #enter(parent: PathLevel, segment: JsonSegment): PathLevel | undefined {
    const node = childNodeOf(parent.node, segment)
    if (!node) return undefined
    const isItem = typeof segment === 'number'
    // If the receiver has nothing here yet, it would create an array for a numeric key.
    const isAmbiguous = !isItem && !parent.length && isIndex(segment)
    if (isAmbiguous && parent.path) this.#send(parent, { kind: 'set', path: parent.path, value: {} }, 1)
    else if (isAmbiguous || (!isItem && !isPathKey(segment))) {
      this.#warn(node, 'invalid-path', `below '${parent.path}'`, 'a key that a path can name', show(segment))
      return undefined
    }
    const path = parent.path ? `${parent.path}.${segment}` : `${segment}`
    const gap = parent.gap + (isItem ? segment - parent.length : 0)
    return { node, parent, path, gap, length: 0, next: undefined, child: undefined }
  }

  #completeValue(level: PathLevel, value: Json, repeated: boolean): void {
    const { node, path } = level
    const { field, keys } = node
    const fits = field && fitsIn(field, value)
    if (field && !fits && value !== null && !(keys.size && isContainer(value))) {
      this.#warn(node, 'path-conflict', `field '${field.declared}'`, `${appendTypeOf(field.kind)}`, kindOf(value))
    }
    if (repeated) this.#send(level, { kind: 'set', path, value: declaredPartOf(node, value) ?? null })
    else if (fits && (field.kind === 'set' || !(value as Json[] | string).length)) {
      this.#send(level, { kind: 'set', path, value })
    }
  }

  #append(level: PathLevel | undefined, item: Json): void {
    if (level?.node.field?.kind !== 'append') return
    const { path } = level
    const last = this.#updates?.at(-1)
    if (last?.kind === 'append' && last.path === path) last.items.push(item)
    else this.#send(level, { kind: 'append', path, items: [item] })
  }

  #send(level: PathLevel, update: FieldUpdate, length = 0): void {
    if (level.gap > MAX_GAP) {
      this.#warn(level.node, 'path-conflict', `path '${level.path}'`, `at most ${MAX_GAP} empty items`, level.gap)
      return
    }
    // Most pushes have one update. An array literal takes a tenth of the time of an array that grows.
    if (this.#updates) this.#updates.push(update)
    else this.#updates = [update]
    if (!length && level === this.#lastSent) return
    this.#lastSent = length ? undefined : level
    // Now the receiver has every container on the path.
    for (let current: PathLevel | undefined = level; current; current = current.parent) {
      current.gap = 0
      current.length = length
      length = typeof current.parent?.next === 'number' ? current.parent.next + 1 : 1
    }
  }

  #warn(node: FieldNode, code: ProtocolErrorCode, where: string, expected: string, found: unknown): void {
    if (!node.warned) this.warnings.push(mismatch(code, where, expected, found))
    node.warned = true
  }
}

const KINDS: readonly FieldKind[] = ['set', 'append', 'text-delta']

const invalidField = (declared: string, expected: string, found: unknown) =>
  mismatch('invalid-field', `field '${declared}'`, expected, found)

function parseField([declared, kind]: [string, FieldKind]): Field {
  if (!KINDS.includes(kind)) throw invalidField(declared, KINDS.join(' or '), `'${kind}'`)
  return { declared, kind, segments: segmentsOf(declared, 'field', /(^|\.)(\.|$)|[^.]\*|\*[^.]/) }
}

/** Merges fields with the same first segments, so that the cost per key does not depend on the number of fields. */
function fieldNodeOf(fields: Field[], depth: number): FieldNode {
  const field = fields.find(({ segments }) => segments.length === depth)
  const rest = fields.filter(({ segments }) => segments.length > depth)
  const keys = new Map(rest.map(({ segments }) => [segments[depth] as string, undefined]))
  return { field, depth, rest, keys, warned: false }
}

function childNodeOf({ depth, rest, keys }: FieldNode, segment: JsonSegment): FieldNode | undefined {
  const key = keys.has(`${segment}`) ? `${segment}` : '*'
  if (!keys.has(key)) return undefined
  const matches = ({ segments }: Field) => segments[depth] === key || segments[depth] === '*'
  const child = keys.get(key) ?? fieldNodeOf(rest.filter(matches), depth + 1)
  keys.set(key, child)
  return child
}

/** Rejects two fields that could write the same value. A `text-delta` field may be a prefix: its value may be an object instead. */
function rejectOverlap(field: Field, other: Field): void {
  const [short, long] = field.segments.length < other.segments.length ? [field, other] : [other, field]
  const isSame = (segment: string, i: number) =>
    segment === '*' || long.segments[i] === '*' || long.segments[i] === segment
  const isDisjoint = short.kind === 'text-delta' && short.segments.length < long.segments.length
  if (!isDisjoint && short.segments.every(isSame)) {
    throw invalidField(short.declared, 'no other field that writes to it', `'${long.declared}'`)
  }
}

const isPathKey = (key: string) => !/^\*?$|\./.test(key)

const fitsIn = ({ kind }: Field, value: Json) => kind === 'set' || kindOf(value) === appendTypeOf(kind)

/** Reduces a value to the declared fields, for a repeated key. */
function declaredPartOf(node: FieldNode, value: Json): Json | undefined {
  if (node.field && fitsIn(node.field, value)) return value
  if (!isContainer(value)) return undefined
  const kept: JsonContainer = Array.isArray(value) ? [] : {}
  for (const [key, item] of Object.entries(value)) {
    const child = isPathKey(key) ? childNodeOf(node, key) : undefined
    const declared = child && declaredPartOf(child, item)
    if (declared !== undefined || Array.isArray(value)) putOwn(kept, key, declared ?? null)
  }
  return kept
}
