import { catalogue, dataRow } from '../catalogue/catalogue.ts'
import type { Chunk } from '../catalogue/chunk.ts'
import type { Check } from '../catalogue/field-check.ts'
import { arrayOf, checkOf, fieldsCheck, optional, rowCheck } from '../catalogue/field-check.ts'
import type { Entry, GuestOrigin, WriterOrigin } from '../entry/entry.ts'
import { ProtocolError, type ProtocolErrorCode } from '../error/protocol-error.ts'
import { frames, type WireFrame } from '../frame/frame.ts'

type Unchecked<T> = { readonly [Key in keyof T]?: unknown }

/** Prefixes a problem with its path. */
const at = (path: string, problem: string | undefined): string | undefined =>
  problem === undefined ? undefined : path + problem

const rows: ReadonlyMap<string, Check> = new Map(Object.entries(catalogue).map(([type, row]) => [type, rowCheck(row)]))
const dataCheck = rowCheck(dataRow)
const typed = fieldsCheck({ type: 'string' })

/** Returns what is wrong with a chunk, or undefined. Types that are not in the catalogue are valid. */
export const checkChunk: Check = value => {
  const type = (value as { type?: unknown } | null | undefined)?.type
  if (typeof type !== 'string') return typed(value) as string
  const check = rows.get(type) ?? (type.startsWith('data-') ? dataCheck : typed)
  return at(' ', at(type, check(value)))
}

// Most checks are of entries and their origins. These are written by hand, which is faster than checks from the table
// (`npm run bench -- validate sse`). A test compares them with the tables.
const object = checkOf('object')
const string = checkOf('string')
const count = checkOf('count')
const stringOrNone = checkOf('string?')

/** Returns what is wrong with an origin, or undefined. */
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

/** Returns what is wrong with an entry, or undefined. */
export const checkEntry: Check = /* @__PURE__ */ entryCheck(checkOrigin)
/** Returns what is wrong with an entry of a frame, which may omit its origin, or undefined. */
export const checkWireEntry: Check = /* @__PURE__ */ entryCheck(optional(checkOrigin))

// The first entry of a frame has no entry before it to inherit an origin from.
const entries = arrayOf((entry, i) => (i === 0 ? checkEntry : checkWireEntry)(entry))

const frameChecks = new Map<unknown, Check>(
  Object.entries(frames).map(([type, fields]) => [type, fieldsCheck(fields, { entries })]),
)

/** Returns what is wrong with a frame, or undefined. The first entry of a frame has an origin; the others may inherit it. */
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

/**
 * Returns the value as a chunk.
 * @throws ProtocolError `invalid-chunk`. The message names the field, the expected value and the value that was found.
 */
export const validateChunk = /* @__PURE__ */ validator<Chunk>('invalid-chunk', 'chunk', checkChunk)
/**
 * Returns the value as an entry.
 * @throws ProtocolError `invalid-chunk`. The message names the field, the expected value and the value that was found.
 */
export const validateEntry = /* @__PURE__ */ validator<Entry>('invalid-chunk', 'entry', checkEntry)
/**
 * Returns the value as a frame on the wire.
 * @throws ProtocolError `invalid-frame`. The message names the field, the expected value and the value that was found.
 */
export const validateFrame = /* @__PURE__ */ validator<WireFrame>('invalid-frame', 'frame', checkFrame)
