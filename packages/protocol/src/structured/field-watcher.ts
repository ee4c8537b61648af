import { mismatch, type ProtocolError, type ProtocolErrorCode, show } from '../error/protocol-error.ts'
import { isIndex, kindOf } from '../json/container.ts'
import { isContainer, type Json, type JsonContainer, putOwn } from '../json/json.ts'
import type { JsonSegment } from '../json/json-parser.ts'
import { type JsonPath, JsonStream } from '../json/json-stream.ts'
import { MAX_GAP, segmentsOf } from './path.ts'
import { grownBy } from './structured-accumulator.ts'

/** How a field arrives: whole when complete, item by item, or as its text grows. */
export type FieldKind = 'set' | 'append' | 'text-delta'

/** Dotted paths, in which a segment may be `*` for exactly one key or index, and how each arrives. */
export type Fields = Readonly<Record<string, FieldKind>>

/** What a structured-data chunk says beside its stream's identity. */
export type FieldUpdate =
  | { kind: 'set'; path: string; value: Json }
  | { kind: 'append'; path: string; items: Json[] }
  | { kind: 'text-delta'; path: string; delta: string }

interface Field {
  declared: string
  segments: string[]
  kind: FieldKind
}

/** A place in the document that fields speak of: the field that ends here, and where the others go on. */
interface FieldNode {
  field: Field | undefined
  depth: number
  rest: Field[]
  /** The places below, each made when the document comes to it: all that wildcards and names may make together are too many. */
  keys: Map<string, FieldNode | undefined>
  warned: boolean
}

/** A place that the document has come to. */
interface Step {
  place: FieldNode
  above: Step | undefined
  path: string
  /** How many nulls the receiver would have to fill in to write here. */
  gap: number
  /** How long the receiver's array is; of an object, 1 if the receiver has one. */
  length: number
  /** The key or index that it was last gone on with, and the place there, if fields are declared for it. */
  next: JsonSegment | undefined
  below: Step | undefined
}

/**
 * Turns the streamed text of a JSON document into updates of its declared fields, in document order. Folded by the
 * structured reducer, which refuses none of them, they agree with the document on every declared field, but:
 *
 * - What a path cannot say arrives with the final object only: keys that are empty, `*` or have a dot, numeric keys
 *   of the root object as long as nothing else of it was written (the receiver would make an array of it), and an item
 *   with a gap of more than `MAX_GAP` before it.
 * - A value that does not fit its field is left out.
 *
 * All that is noted in `warnings`, but for a `null`, which is nothing. An object whose first key is numeric is first
 * `set` to `{}`. A string or an array that is complete and empty arrives as a `set`. The value of a repeated key arrives
 * as one `set`, when it is complete, cut to what is declared; so what the receiver has never shrinks before that, and is
 * as `JSON.parse` has it after. Values in updates are the parser's own, which are complete and so never change: they are
 * to be read, not written.
 */
export class FieldWatcher {
  /** The parser underneath: its value, status and error. */
  readonly json: JsonStream
  /** What could not be sent, once for each declared place. */
  readonly warnings: ProtocolError[] = []

  readonly #root: Step
  #updates: FieldUpdate[] | undefined
  /** Where the open string stands, or the root if that is nowhere: between two of its deltas nothing else is reported. */
  #open: Step | undefined
  /** Where the last update went, if it left nothing but itself there. */
  #sent: Step | undefined

  /** Throws an `invalid-field` for a path that is none, and for two fields that could write the same value. */
  constructor(fields: Fields) {
    const all = Object.entries(fields).map(parseField)
    for (const [i, one] of all.entries()) for (const other of all.slice(0, i)) refuseRivals(one, other)
    this.#root = {
      place: placeOf(all, 0),
      above: undefined,
      path: '',
      gap: 0,
      length: 0,
      next: undefined,
      below: undefined,
    }
    this.json = new JsonStream({
      onGrow: (delta, path) => {
        this.#open ??= this.#find(path) ?? this.#root
        const step = this.#open
        if (step.place.field?.kind === 'text-delta') this.#send(step, { kind: 'text-delta', path: step.path, delta })
      },
      onComplete: (value, path, repeated) => {
        this.#open = undefined
        const step = this.#find(path)
        if (step) this.#settle(step, value, repeated)
        else if (typeof path.at(-1) === 'number') this.#append(this.#find(path, path.length - 1), value)
      },
    })
  }

  /** Goes on with the next piece of text: the updates that it brings. Never throws. */
  push(delta: string): FieldUpdate[] {
    this.#updates = undefined
    this.json.push(delta)
    return this.#updates ?? []
  }

  /** Says that the text is over; whether a whole document was seen. */
  end(): boolean {
    return this.json.end()
  }

  /** Goes the first so many steps of a path, or all, as long as fields are declared there. */
  #find(path: JsonPath, depth = path.length): Step | undefined {
    let step: Step | undefined = this.#root
    for (let i = 0; step && i < depth; i++) {
      const segment = path[i] as JsonSegment
      if (step.next !== segment) {
        step.next = segment
        step.below = this.#enter(step, segment)
      }
      step = step.below
    }
    return step
  }

  #enter(above: Step, segment: JsonSegment): Step | undefined {
    const place = belowOf(above.place, segment)
    if (!place) return undefined
    const isItem = typeof segment === 'number'
    // Where the receiver has nothing yet, it would make an array of an object with this key.
    const isUnclear = !isItem && !above.length && isIndex(segment)
    if (isUnclear && above.path) this.#send(above, { kind: 'set', path: above.path, value: {} }, 1)
    else if (isUnclear || (!isItem && !canBeNamed(segment))) {
      this.#warn(place, 'invalid-path', `below '${above.path}'`, 'a key that a path can name', show(segment))
      return undefined
    }
    const path = above.path ? `${above.path}.${segment}` : `${segment}`
    const gap = above.gap + (isItem ? segment - above.length : 0)
    return { place, above, path, gap, length: 0, next: undefined, below: undefined }
  }

  #settle(step: Step, value: Json, repeated: boolean): void {
    const { place, path } = step
    const { field, keys } = place
    const fits = field && fitsIn(field, value)
    if (field && !fits && value !== null && !(keys.size && isContainer(value))) {
      this.#warn(place, 'path-conflict', `field '${field.declared}'`, `${grownBy(field.kind)}`, kindOf(value))
    }
    if (repeated) this.#send(step, { kind: 'set', path, value: cut(place, value) ?? null })
    else if (fits && (field.kind === 'set' || !(value as Json[] | string).length)) {
      this.#send(step, { kind: 'set', path, value })
    }
  }

  #append(step: Step | undefined, item: Json): void {
    if (step?.place.field?.kind !== 'append') return
    const { path } = step
    const last = this.#updates?.at(-1)
    if (last?.kind === 'append' && last.path === path) last.items.push(item)
    else this.#send(step, { kind: 'append', path, items: [item] })
  }

  #send(step: Step, update: FieldUpdate, length = 0): void {
    if (step.gap > MAX_GAP) {
      this.#warn(step.place, 'path-conflict', `path '${step.path}'`, `at most ${MAX_GAP} places to fill`, step.gap)
      return
    }
    // Most pushes bring one: an array made for it takes a tenth of what one that grows to it does.
    if (this.#updates) this.#updates.push(update)
    else this.#updates = [update]
    if (!length && step === this.#sent) return
    this.#sent = length ? undefined : step
    // Now the receiver has everything on the way to here.
    for (let one: Step | undefined = step; one; one = one.above) {
      one.gap = 0
      one.length = length
      length = typeof one.above?.next === 'number' ? one.above.next + 1 : 1
    }
  }

  #warn(place: FieldNode, code: ProtocolErrorCode, where: string, expected: string, found: unknown): void {
    if (!place.warned) this.warnings.push(mismatch(code, where, expected, found))
    place.warned = true
  }
}

const KINDS: readonly FieldKind[] = ['set', 'append', 'text-delta']

const refuse = (declared: string, expected: string, found: unknown) =>
  mismatch('invalid-field', `field '${declared}'`, expected, found)

function parseField([declared, kind]: [string, FieldKind]): Field {
  if (!KINDS.includes(kind)) throw refuse(declared, KINDS.join(' or '), `'${kind}'`)
  return { declared, kind, segments: segmentsOf(declared, 'field', /(^|\.)(\.|$)|[^.]\*|\*[^.]/) }
}

/** Merges the fields that meet after the same segments, so that a document takes one step a key however many there are. */
function placeOf(fields: Field[], depth: number): FieldNode {
  const field = fields.find(({ segments }) => segments.length === depth)
  const rest = fields.filter(({ segments }) => segments.length > depth)
  const keys = new Map(rest.map(({ segments }) => [segments[depth] as string, undefined]))
  return { field, depth, rest, keys, warned: false }
}

function belowOf({ depth, rest, keys }: FieldNode, segment: JsonSegment): FieldNode | undefined {
  const key = keys.has(`${segment}`) ? `${segment}` : '*'
  if (!keys.has(key)) return undefined
  const met = ({ segments }: Field) => segments[depth] === key || segments[depth] === '*'
  const below = keys.get(key) ?? placeOf(rest.filter(met), depth + 1)
  keys.set(key, below)
  return below
}

/** Refuses two fields that could write the same value: a text may instead be an object that has the other. */
function refuseRivals(one: Field, other: Field): void {
  const [short, long] = one.segments.length < other.segments.length ? [one, other] : [other, one]
  const meet = (segment: string, i: number) =>
    segment === '*' || long.segments[i] === '*' || long.segments[i] === segment
  const apart = short.kind === 'text-delta' && short.segments.length < long.segments.length
  if (!apart && short.segments.every(meet)) {
    throw refuse(short.declared, 'a value of its own', `'${long.declared}' in it`)
  }
}

const canBeNamed = (key: string) => !/^\*?$|\./.test(key)

const fitsIn = ({ kind }: Field, value: Json) => kind === 'set' || kindOf(value) === grownBy(kind)

/** What of a value is declared: a repeated key must not show more than the fields do. */
function cut(place: FieldNode, value: Json): Json | undefined {
  if (place.field && fitsIn(place.field, value)) return value
  if (!isContainer(value)) return undefined
  const kept: JsonContainer = Array.isArray(value) ? [] : {}
  for (const [key, child] of Object.entries(value)) {
    const below = canBeNamed(key) ? belowOf(place, key) : undefined
    const declared = below && cut(below, child)
    if (declared !== undefined || Array.isArray(value)) putOwn(kept, key, declared ?? null)
  }
  return kept
}
