import { type Entry, entryFields, origins } from '../entry.ts'
import { ProtocolError, type ProtocolErrorCode } from '../error.ts'
import type { Frame } from '../frame.ts'
import { frames } from '../frame.ts'
import type { Check } from './check.ts'
import { fieldsCheck, rowCheck } from './check.ts'
import type { Chunk, ChunkType } from './chunk.ts'
import { catalogue, dataRow, type Row } from './table.ts'

const rows: ReadonlyMap<string, Check> = new Map(Object.entries(catalogue).map(([type, row]) => [type, rowCheck(row)]))
const dataCheck = rowCheck(dataRow)
const typed = fieldsCheck({ type: 'string' })

/** Says what is wrong with a chunk, or nothing: a type that the catalogue does not know is right as it is. */
export const checkChunk: Check = value => {
  const type = (value as { type?: unknown } | null | undefined)?.type
  if (typeof type !== 'string') return typed(value) as string
  const check = rows.get(type) ?? (type.startsWith('data-') ? dataCheck : typed)
  const problem = check(value)
  return problem === undefined ? undefined : ` ${type}${problem}`
}

const writerCheck = fieldsCheck(origins.writer)
const guestCheck = fieldsCheck(origins.guest)

/** Says what is wrong with an origin, or nothing. */
export const checkOrigin: Check = value =>
  (value as { guest?: unknown } | null | undefined)?.guest === undefined ? writerCheck(value) : guestCheck(value)

const entryOf =
  (place: Check): Check =>
  value => {
    let problem = place(value)
    if (problem !== undefined) return problem
    const { origin, chunk } = value as Partial<Entry>
    if (origin !== undefined) problem = checkOrigin(origin)
    if (problem !== undefined) return `.origin${problem}`
    problem = checkChunk(chunk)
    return problem === undefined ? undefined : `.chunk${problem}`
  }

/** Says what is wrong with an entry, or nothing. */
export const checkEntry: Check = /* @__PURE__ */ entryOf(fieldsCheck(entryFields))
/** Says what is wrong with an entry whose origin may have been left out, as inside a frame, or nothing. */
export const checkWireEntry: Check = /* @__PURE__ */ entryOf(fieldsCheck({ ...entryFields, origin: 'object?' }))

const frameChecks: ReadonlyMap<unknown, Check> = new Map(
  Object.entries(frames).map(([type, fields]) => [type, fieldsCheck(fields)]),
)

/** Says what is wrong with a frame, or nothing. The first entry of a frame states its origin; the others may inherit it. */
export const checkFrame: Check = value => {
  const type = (value as { type?: unknown } | null | undefined)?.type
  const check = frameChecks.get(type)
  if (check === undefined)
    return typed(value) ?? ` ${type as string}: expected one of ${[...frameChecks.keys()].join(', ')}`
  const problem = check(value)
  if (problem !== undefined) return ` ${type as string}${problem}`
  if (type !== 'entries') return undefined
  const { entries } = value as Extract<Frame, { type: 'entries' }>
  for (let i = 0; i < entries.length; i++) {
    const wrong = (i === 0 ? checkEntry : checkWireEntry)(entries[i])
    if (wrong !== undefined) return ` entries.entries[${i}]${wrong}`
  }
  return undefined
}

function validator<T>(code: ProtocolErrorCode, noun: string, check: Check): (value: unknown) => T {
  return value => {
    const problem = check(value)
    if (problem !== undefined) throw new ProtocolError(code, noun + problem)
    return value as T
  }
}

/** Returns the value as a chunk, or throws an `invalid-chunk` that names the field, what was expected and what was found. */
export const validateChunk = /* @__PURE__ */ validator<Chunk>('invalid-chunk', 'chunk', checkChunk)
/** Returns the value as an entry, or throws an `invalid-chunk` that names the place. */
export const validateEntry = /* @__PURE__ */ validator<Entry>('invalid-chunk', 'entry', checkEntry)
/** Returns the value as a frame, or throws an `invalid-frame` that names the place. */
export const validateFrame = /* @__PURE__ */ validator<Frame>('invalid-frame', 'frame', checkFrame)

const rowOf = (type: string): Row | undefined =>
  Object.hasOwn(catalogue, type) ? catalogue[type as ChunkType] : undefined

/** Tells a word, which a discard takes back, from a fact. */
export function isWord(chunk: Chunk): boolean {
  const word = chunk.type.startsWith('data-') ? true : rowOf(chunk.type)?.word
  return word === 'preliminary' ? (chunk as { preliminary?: boolean }).preliminary === true : word === true
}

/** Tells whether a guest may append a chunk of this type. */
export const isGuestChunk = (type: string): boolean => rowOf(type)?.guest === true
