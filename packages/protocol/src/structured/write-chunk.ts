import type { StructuredDataChunk } from '../catalogue/guards.ts'
import { mismatch } from '../error/protocol-error.ts'
import { kindOf, writable } from '../json/container.ts'
import { getOwn, type Json, type JsonObject } from '../json/json.ts'
import { changeAt, conflict, type DataWrite } from './change-at.ts'
import { parsePath } from './path.ts'
import type { StructuredState, UnsetItems } from './structured-state.ts'
import type { StatePath, UndoJournal } from './undo-journal.ts'

type Journal = UndoJournal | undefined

/** A state as a container. */
type Target = JsonObject | undefined

/** A value that can be appended to. */
export type Appendable = string | Json[]

/** The field with the value, by kind of chunk. */
const VALUES = { set: 'value', append: 'items', 'text-delta': 'delta', final: 'data' } as const

/** The type that a kind of chunk appends to, which is also the type of its value. Undefined for a kind that replaces. */
export const appendTypeOf = (kind: string): string | undefined =>
  kind === 'append' ? 'array' : kind === 'text-delta' ? 'string' : undefined

const DATA: StatePath = ['data']

// The last path: most chunks write to the same path as the chunk before.
let lastPath: unknown = DATA
let lastSegments = DATA

function dataPathOf(path: string): StatePath {
  if (path !== lastPath) {
    lastSegments = [...DATA, ...parsePath(path)]
    lastPath = path
  }
  return lastSegments
}

/** The path in `unset` of the value at the first `depth` segments. */
const unsetPathOf = (path: StatePath, depth: number): StatePath => ['unset', ...path.slice(1, depth)]

/**
 * Returns the state after a chunk. Without a journal, the given one is not changed.
 * @throws ProtocolError for an invalid chunk, which changes nothing.
 */
export function writeChunk(
  state: StructuredState | undefined,
  chunk: StructuredDataChunk,
  journal?: UndoJournal,
  isKey?: DataWrite['isKey'],
): StructuredState {
  const { streamId, kind } = chunk
  if (state && state.streamId !== streamId) {
    throw mismatch('stream-mismatch', `structured-data '${kind}'`, `stream '${state.streamId}'`, `'${streamId}'`)
  }
  if (state?.status === 'done')
    throw mismatch('stream-done', `structured-data '${kind}'`, `'${streamId}' streaming`, 'it done')
  const path = kind === 'final' ? DATA : dataPathOf(chunk.path)
  const growing = appendTypeOf(kind)
  const value = (chunk as Partial<Record<string, Json>>)[VALUES[kind]]
  if (value === undefined || (growing && growing !== kindOf(value))) {
    throw mismatch('invalid-chunk', `structured-data '${kind}'`, growing ?? 'value', kindOf(value))
  }
  // Follows the path to an unset item on it. Then `depth` is the number of segments up to that item.
  let unset = state?.unset as true | UnsetItems | undefined
  let depth = 1
  while (unset && unset !== true && depth < path.length) unset = getOwn(unset, path[depth++] as string)
  const update = (old: Json | undefined) => updated(path, old, value, journal, growing)
  const write: DataWrite = { unset: unset === true ? depth : 0, gaps: [], isKey }
  const data = changeAt(state?.data, 1, path, journal, update, write) as Json
  if (!state) journal?.record([], {})
  let next = state as JsonObject | undefined
  if (!Object.is(data, state?.data)) {
    // A spread of its own, because the engine specializes it for the shape of a state.
    next = journal ? writable(next ?? {}, journal.owned) : { ...next }
    next['data'] = data
  }
  if (unset === true || (unset && !growing)) next = setAt(next, unsetPathOf(path, depth), undefined, journal)
  for (const [depth, from, to] of write.gaps) {
    next = markUnset(next, unsetPathOf(path, depth), from, to, journal)
  }
  // A field that a chunk omits keeps its latest value. A loop over the names would take as long as all the rest.
  next = header(next, 'streamId', state?.streamId, streamId, journal)
  next = header(next, 'dataType', state?.dataType, chunk.dataType, journal)
  next = header(next, 'schemaId', state?.schemaId, chunk.schemaId, journal)
  next = header(next, 'schemaVersion', state?.schemaVersion, chunk.schemaVersion, journal)
  next = header(next, 'id', state?.id, chunk.id, journal)
  next = header(next, 'node', state?.node, chunk.node, journal)
  next = header(next, 'status', state?.status, kind === 'final' ? 'done' : 'streaming', journal)
  return next as unknown as StructuredState
}

/** Sets a field of the state. Most chunks repeat it, so an equal value returns early. */
const header = (
  state: Target,
  key: string,
  old: string | undefined,
  now: string | undefined,
  journal: Journal,
): Target => (now === undefined || now === old ? state : setAt(state, [key], now, journal))

/** Sets the value at a path of the state, or removes it. */
const setAt = (state: Target, path: StatePath, value: Json | undefined, journal: Journal): Target =>
  changeAt(state, 0, path, journal, old => updated(path, old, value, journal)) as Target

/** Marks the items of a gap as unset. `path` is that of the array in `unset`. */
function markUnset(state: Target, path: StatePath, from: number, to: number, journal: Journal): Target {
  const update = (old: Json | undefined) => {
    const items = writable((old ?? {}) as JsonObject, journal?.owned)
    for (let i = from; i < to; i++) {
      if (old) journal?.record([...path, `${i}`], {})
      items[i] = true
    }
    return items
  }
  return changeAt(state, 0, path, journal, update) as Target
}

/** Replaces the value at a path, or removes it. Appends to it if the chunk appends to a `type`. */
export function updated<T extends Json | undefined>(
  path: StatePath,
  old: Json | undefined,
  value: T,
  journal: Journal,
  type?: string,
): T {
  if (old === undefined) return value
  if (!type) {
    if (!Object.is(old, value)) journal?.record(path, { old })
    return value
  }
  if (type !== kindOf(old)) throw conflict(path, path.length, type, kindOf(old))
  const { length } = old as Appendable
  if (!(value as Appendable).length) return old as T
  journal?.record(path, { length })
  return resized(old as Appendable, length, value as Appendable, journal) as T
}

/** Truncates an array or a string to `length`, then appends `more`. Mutates an array that the journal owns. */
export function resized(target: Appendable, length: number, more: Appendable, journal: Journal): Appendable {
  if (typeof target === 'string') return target.slice(0, length) + more
  const array = writable(target, journal?.owned)
  if (array.length > length) array.length = length
  for (const item of more) array.push(item)
  return array
}
