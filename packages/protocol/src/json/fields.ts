import { ProtocolError, type ProtocolErrorCode } from '../error.ts'
import { MAX_DEPTH, MAX_GAP } from '../structured/path.ts'
import { isIndex, kindOf } from './container.ts'
import { type JsonSegment, JsonStream } from './stream.ts'
import { isContainer, type Json, type JsonContainer, putOwn } from './value.ts'

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
interface Place {
  field: Field | undefined
  keys: Map<string, Place>
  any: Place | undefined
}

/** An open container in which fields are watched. */
interface Frame {
  place: Place
  /** What a path of something in it begins with. */
  prefix: string
  segment: JsonSegment | undefined
  /** For an array, how long the receiver's is. */
  length: number
  isArray: boolean
}

/**
 * Turns the streamed text of a JSON document into updates of its declared fields, in document order. Folded by the
 * structured reducer, which refuses none of them, they agree with the document on every declared field, but:
 *
 * - What a path cannot say arrives with the final object only: keys that are empty, `*` or have a dot, and numeric keys
 *   of the root object as long as nothing else of it was written (the receiver would make an array of it).
 * - A value that does not fit its field is left out and noted in `warnings`; a `null` is left out silently.
 *
 * An object whose first key is numeric is first `set` to `{}`. A string or an array that is complete and empty arrives
 * as a `set`. The value of a repeated key arrives as one `set`, when it is complete, cut to what is declared; so what
 * the receiver has never shrinks before that, and is as `JSON.parse` has it after. Values in updates are the parser's
 * own, which are complete and so never change: they are to be read, not written.
 */
export class FieldWatcher {
  /** The parser underneath: its value, status and error. */
  readonly json: JsonStream
  /** What could not be sent, once for each declared place. */
  readonly warnings: ProtocolError[] = []

  readonly #root: Place
  readonly #warned = new Set<Place>()
  readonly #frames: Frame[] = []
  /** How many of the frames the receiver has. */
  #made = 0
  #updates: FieldUpdate[] = []
  #items: Json[] | undefined

  /** Throws an `invalid-field` for a path that is none, and for two fields that could write the same value. */
  constructor(fields: Fields) {
    this.#root = placeOf(Object.entries(fields).map(parseField), 0)
    this.json = new JsonStream({
      onOpen: container => this.#open(container),
      onGrow: delta => this.#grow(delta),
      onComplete: value => this.#complete(value),
    })
  }

  /** Goes on with the next piece of text: the updates that it brings. Never throws. */
  push(delta: string): FieldUpdate[] {
    this.#updates = []
    this.#items = undefined
    this.json.push(delta)
    return this.#updates
  }

  /** Says that the text is over; whether a whole document was seen. */
  end(): boolean {
    return this.json.end()
  }

  #open(container: JsonContainer): void {
    const { depth, segment, repeated } = this.json
    const place = depth === 0 ? this.#root : this.#placeHere()
    if (place === undefined || repeated) return
    const isArray = Array.isArray(container)
    if (!goesOn(place) && !(isArray && place.field?.kind === 'append')) return
    const prefix = depth === 0 ? '' : `${this.#pathHere()}.`
    this.#frames.push({ place, prefix, segment, length: 0, isArray })
  }

  #grow(delta: string): void {
    if (this.json.repeated || this.#placeHere()?.field?.kind !== 'text-delta') return
    if (this.#reach(this.json.depth - 1, this.json.segment)) {
      this.#updates.push({ kind: 'text-delta', path: this.#pathHere(), delta })
    }
  }

  #complete(value: Json): void {
    const { depth } = this.json
    if (this.#frames.length > depth) {
      this.#frames.pop()
      this.#made = Math.min(this.#made, depth)
    }
    const frame = this.#frames.length === depth ? this.#frames[depth - 1] : undefined
    const place = this.#placeHere()
    if (frame?.isArray && frame.place.field?.kind === 'append') this.#append(frame, value)
    else if (place !== undefined) this.#settle(place, value)
  }

  #settle(place: Place, value: Json): void {
    const { field } = place
    const fits = field !== undefined && fitsIn(field.kind, value)
    if (field && !fits && value !== null && !(isContainer(value) && goesOn(place))) {
      const expected = field.kind === 'append' ? 'array' : 'string'
      this.#warn(place, 'path-conflict', `field '${field.declared}': expected ${expected}`, kindOf(value))
    }
    if (this.json.repeated) this.#set(cut(place, value) ?? null)
    else if (fits && (field.kind === 'set' || (value as Json[] | string).length === 0)) this.#set(value)
  }

  #set(value: Json): void {
    const { depth, segment } = this.json
    if (this.#reach(depth - 1, segment)) this.#updates.push({ kind: 'set', path: this.#pathHere(), value })
  }

  #append(frame: Frame, item: Json): void {
    if (this.#items === undefined || frame.length === 0) {
      if (!this.#reach(this.json.depth - 2, frame.segment)) return
      this.#items = []
      this.#updates.push({ kind: 'append', path: frame.prefix.slice(0, -1), items: this.#items })
    }
    this.#items.push(item)
    frame.length++
  }

  /** The declared place of the parser's current value, if its container is watched. */
  #placeHere(): Place | undefined {
    const { depth, segment } = this.json
    if (this.#frames.length !== depth || depth === 0) return undefined
    const frame = this.#frames[depth - 1] as Frame
    const { keys, any } = frame.place
    const place = keys.size > 0 ? keys.get(String(segment)) : undefined
    if (place !== undefined || any === undefined || typeof segment === 'number') return place ?? any
    if (segment !== '' && segment !== '*' && !segment?.includes('.')) return any
    this.#warn(any, 'invalid-path', `below '${frame.prefix}': expected a key that a path can name`, segment)
    return undefined
  }

  #pathHere(): string {
    return `${this.#frames[this.json.depth - 1]?.prefix}${this.json.segment}`
  }

  /** Sees to it that the receiver can write at a segment of a frame; whether it can. */
  #reach(level: number, segment: JsonSegment | undefined): boolean {
    for (let i = Math.max(0, this.#made - 1); i <= level; i++) {
      const frame = this.#frames[i] as Frame
      const next = i === level ? segment : this.#frames[i + 1]?.segment
      if (typeof next === 'number') {
        // The receiver fills a gap with nulls only up to a bound.
        for (; next > frame.length + MAX_GAP; frame.length += MAX_GAP + 1) {
          this.#updates.push({ kind: 'set', path: `${frame.prefix}${frame.length + MAX_GAP}`, value: null })
        }
        frame.length = Math.max(frame.length, next + 1)
      } else if (i >= this.#made && isIndex(next as string)) {
        if (i === 0) {
          this.#warn(this.#root, 'invalid-path', 'root: expected a key that does not look like an index', next)
          return false
        }
        this.#updates.push({ kind: 'set', path: frame.prefix.slice(0, -1), value: {} })
      }
    }
    this.#made = Math.max(this.#made, level + 1)
    return true
  }

  #warn(place: Place, code: ProtocolErrorCode, expected: string, found: string | undefined): void {
    if (this.#warned.has(place)) return
    this.#warned.add(place)
    this.warnings.push(new ProtocolError(code, `${expected}, found ${JSON.stringify(found?.slice(0, 24))}`))
  }
}

const refuse = (declared: string, why: string) => new ProtocolError('invalid-field', `field '${declared}': ${why}`)

function parseField([declared, kind]: [string, FieldKind]): Field {
  const segments = declared.split('.')
  if (kind !== 'set' && kind !== 'append' && kind !== 'text-delta') {
    throw refuse(declared, `expected 'set', 'append' or 'text-delta', found '${kind}'`)
  }
  for (const segment of segments) {
    if (segment === '') throw refuse(declared, 'expected dot-separated segments, found an empty one')
    if (segment !== '*' && segment.includes('*')) throw refuse(declared, `expected '*' alone, found '${segment}'`)
  }
  if (segments.length > MAX_DEPTH) {
    throw refuse(declared, `expected at most ${MAX_DEPTH} segments, found ${segments.length}`)
  }
  return { declared, segments, kind }
}

/** Merges the fields that meet after the same segments, so that a document takes one step a key however many there are. */
function placeOf(fields: Field[], depth: number): Place {
  const [field, other] = fields.filter(({ segments }) => segments.length === depth)
  const rest = fields.filter(({ segments }) => segments.length > depth)
  const below = field?.kind === 'text-delta' ? other : (other ?? rest[0])
  if (field && below) throw refuse(field.declared, `it would write what '${below.declared}' writes`)
  const wild = rest.filter(({ segments }) => segments[depth] === '*')
  const keys = new Map<string, Place>()
  for (const { segments } of rest) {
    const key = segments[depth] as string
    if (key === '*' || keys.has(key)) continue
    keys.set(key, placeOf([...rest.filter(one => one.segments[depth] === key), ...wild], depth + 1))
  }
  return { field, keys, any: wild.length > 0 ? placeOf(wild, depth + 1) : undefined }
}

const goesOn = (place: Place) => place.any !== undefined || place.keys.size > 0

const fitsIn = (kind: FieldKind, value: Json) =>
  kind === 'set' || (kind === 'append' ? Array.isArray(value) : typeof value === 'string')

/** What of a value is declared: a repeated key must not show more than the fields do. */
function cut(place: Place, value: Json): Json | undefined {
  if (place.field && fitsIn(place.field.kind, value)) return value
  if (!isContainer(value) || !goesOn(place)) return undefined
  const cutAt = (segment: JsonSegment, child: Json) => {
    const below = place.keys.get(String(segment)) ?? place.any
    return below && cut(below, child)
  }
  if (Array.isArray(value)) return value.map((item, i) => cutAt(i, item) ?? null)
  const kept = {}
  for (const key of Object.keys(value)) {
    const child = cutAt(key, value[key] as Json)
    if (child !== undefined) putOwn(kept, key, child)
  }
  return kept
}
