// A simple model of structured data: clone everything, walk, assign. Slow, and shares no code with the reducer. An item that no write
// has set is `undefined` in its arrays, so it needs no list of such items.

import type { StructuredDataChunk } from '../catalogue/guards.ts'
import type { Json } from '../json/json.ts'
import type { StructuredState, UnsetItems } from './structured-state.ts'

export const clone = <T>(value: T): T => (value === undefined ? value : JSON.parse(JSON.stringify(value)))

/** Clones a value with its unset items. */
function cloneOf(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => (item === undefined ? item : cloneOf(item)))
  return Object.defineProperties(
    {},
    Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        { value: cloneOf(item), enumerable: true, writable: true, configurable: true },
      ]),
    ),
  )
}

/** The paths of the unset items in a value of the model. */
export function unsetIn(value: Json | undefined, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) =>
    item === undefined ? [`${path}.${key}`] : unsetIn(item, `${path}.${key}`),
  )
}

/** The paths in the `unset` of a state. */
export const pathsOf = (unset: UnsetItems = {}, path = ''): string[] =>
  Object.entries(unset).flatMap(([key, below]) =>
    below === true ? [`${path}.${key}`] : pathsOf(below, `${path}.${key}`),
  )

/** Freezes a value deeply, so that a write to it throws. */
export function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const child of Object.values(value)) freeze(child)
  }
  return value
}

const numeric = (segment: string) => /^(0|[1-9][0-9]*)$/.test(segment)
type Place = { read(): Json | undefined; write(value: Json): void }

function placeOf(root: Place, segments: string[]): Place {
  let target = root
  let gap = 0
  for (const segment of segments) {
    let node = target.read()
    if (node === undefined) {
      node = numeric(segment) ? [] : {}
      target.write(node)
    }
    if (typeof node !== 'object' || node === null) throw 'path-conflict'
    if (Array.isArray(node)) {
      const array = node
      const index = Number(segment)
      gap += Math.max(0, index - array.length)
      if (!numeric(segment) || gap > 1024) throw 'path-conflict'
      target = {
        read: () => array[index],
        write: value => {
          while (array.length < index) array.push(undefined as unknown as Json)
          array[index] = value
        },
      }
    } else {
      const object = node
      target = {
        read: () => Object.entries(object).find(([key]) => key === segment)?.[1],
        write: value =>
          Object.defineProperty(object, segment, { value, enumerable: true, writable: true, configurable: true }),
      }
    }
  }
  return target
}

/** The state after a chunk. Throws the error code. */
export function applyNaively(current: StructuredState | undefined, chunk: StructuredDataChunk): StructuredState {
  if (current && current.streamId !== chunk.streamId) throw 'stream-mismatch'
  if (current?.status === 'done') throw 'stream-done'
  const holder: { data?: Json } = current ? { data: cloneOf(current.data) } : {}
  const { streamId, dataType } = chunk
  const metadata: Record<string, string | undefined> = {}
  for (const key of ['schemaId', 'schemaVersion', 'id', 'node'] as const) {
    const value = chunk[key] ?? current?.[key]
    if (value !== undefined) metadata[key] = value
  }
  if (chunk.kind === 'final') return { streamId, dataType, ...metadata, status: 'done', data: clone(chunk.data) }
  const segments = chunk.path.split('.')
  if (segments.some(segment => segment === '' || segment === '*') || segments.length > 64) throw 'invalid-path'
  const root: Place = {
    read: () => holder.data,
    write: value => {
      holder.data = value
    },
  }
  const target = placeOf(root, segments)
  const old = target.read()
  if (chunk.kind === 'set') target.write(clone(chunk.value))
  else if (chunk.kind === 'append') {
    if (old !== undefined && !Array.isArray(old)) throw 'path-conflict'
    target.write([...(old ?? []), ...clone(chunk.items)])
  } else {
    if (old !== undefined && typeof old !== 'string') throw 'path-conflict'
    target.write((old ?? '') + chunk.delta)
  }
  return { streamId, dataType, ...metadata, status: 'streaming', data: holder.data as Json }
}
