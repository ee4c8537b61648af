// A simple model of structured data: clone everything, walk, assign. Slow, and shares no code with the reducer.

import type { StructuredDataChunk } from '../catalogue/guards.ts'
import type { Json } from '../json/json.ts'
import type { StructuredState } from './structured-accumulator.ts'

export const clone = <T>(value: T): T => (value === undefined ? value : JSON.parse(JSON.stringify(value)))

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
          while (array.length < index) array.push(null)
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
  const holder: { data?: Json } = current ? { data: clone(current.data) } : {}
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
