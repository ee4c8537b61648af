import { catalogue, dataRow } from '../catalogue/catalogue.ts'
import type { Chunk } from '../catalogue/chunk.ts'
import type { Check } from '../catalogue/field-check.ts'
import { arrayOf, checkOf, fieldsCheck, optional, rowCheck } from '../catalogue/field-check.ts'
import type { Entry, GuestOrigin, WriterOrigin } from '../entry/entry.ts'
import { ProtocolError, type ProtocolErrorCode } from '../error/protocol-error.ts'
import { frames, type WireFrame } from '../frame/frame.ts'

type Unchecked<T> = { readonly [Key in keyof T]?: unknown }

/** Puts the place before the problem, if there is one. */
const at = (place: string, problem: string | undefined): string | undefined =>
  problem === undefined ? undefined : place + problem

const rows: ReadonlyMap<string, Check> = new Map(Object.entries(catalogue).map(([type, row]) => [type, rowCheck(row)]))
const dataCheck = rowCheck(dataRow)
const typed = fieldsCheck({ type: 'string' })

/** Says what is wrong with a chunk, or nothing: a type that the catalogue does not know is right as it is. */
export const checkChunk: Check = value => {
  const type = (value as { type?: unknown } | null | undefined)?.type
  if (typeof type !== 'string') return typed(value) as string
  const check = rows.get(type) ?? (type.startsWith('data-') ? dataCheck : typed)
  return at(' ', at(type, check(value)))
}

// Entries and their origins are by far the most of what is checked: by named fields, which is faster than by the table
// (`npm run bench -- validate sse`). A test holds these checks to the tables.
const object = checkOf('object')
const string = checkOf('string')
const count = checkOf('count')
const stringOrNone = checkOf('string?')

/** Says what is wrong with an origin, or nothing. */
export const checkOrigin: Check = value => {
  const origin = value as Unchecked<WriterOrigin> & Unchecked<GuestOrigin>
  return (
    object(value) ??
    (origin.guest === undefined
      ? (at('.runId', string(origin.runId)) ??
        at('.lane', string(origin.lane)) ??
        at('.agentId', string(origin.agentId)) ??
        at('.agentType', string(origin.agentType)) ??
        at('.step', count(origin.step)) ??
        at('.node', stringOrNone(origin.node)) ??
        at('.model', stringOrNone(origin.model)))
      : (at('.guest', string(origin.guest)) ??
        at('.runId', stringOrNone(origin.runId)) ??
        at('.lane', stringOrNone(origin.lane))))
  )
}

const number = checkOf('number')
const sequence = checkOf('sequence')
const trueOrNone = checkOf('true?')
const blobsOrNone = checkOf('blob{}?')

const entryCheck =
  (origin: Check): Check =>
  value => {
    const entry = value as Unchecked<Entry>
    return (
      object(value) ??
      at('.sequence', sequence(entry.sequence)) ??
      at('.timestamp', number(entry.timestamp)) ??
      at('.origin', origin(entry.origin)) ??
      at('.chunk', checkChunk(entry.chunk)) ??
      at('.internal', trueOrNone(entry.internal)) ??
      at('.blobs', blobsOrNone(entry.blobs))
    )
  }

/** Says what is wrong with an entry, or nothing. */
export const checkEntry: Check = /* @__PURE__ */ entryCheck(checkOrigin)
/** Says what is wrong with an entry whose origin may have been left out, as inside a frame, or nothing. */
export const checkWireEntry: Check = /* @__PURE__ */ entryCheck(optional(checkOrigin))

// The first entry of a frame has none before it to have its origin from.
const entries = arrayOf((entry, i) => (i === 0 ? checkEntry : checkWireEntry)(entry))

const frameChecks = new Map<unknown, Check>(
  Object.entries(frames).map(([type, fields]) => [type, fieldsCheck(fields, { entries })]),
)

/** Says what is wrong with a frame, or nothing. The first entry of a frame states its origin; the others may inherit it. */
export const checkFrame: Check = value => {
  const type = (value as { type?: unknown } | null | undefined)?.type
  const check = frameChecks.get(type)
  if (check === undefined)
    return typed(value) ?? ` ${type as string}: expected one of ${[...frameChecks.keys()].join(', ')}`
  return at(' ', at(type as string, check(value)))
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
/** Returns the value as a frame as a connection carries it, or throws an `invalid-frame` that names the place. */
export const validateFrame = /* @__PURE__ */ validator<WireFrame>('invalid-frame', 'frame', checkFrame)
