// The structured reducer of a Kortyx page, written after its documentation: a segment of digits is always an index of an array, any other
// segment is a key of an object, and an unset value is created by the write below it.

import type { StructuredDataChunk } from '@millrace/dialects/kortyx'

export interface KortyxState {
  readonly streamId: string
  readonly dataType: string
  readonly status: 'streaming' | 'done'
  readonly data: unknown
}

type Container = { [key: string]: unknown }

/** Returns the state after a chunk. The given state is not changed. Throws for a chunk that a Kortyx page does not accept. */
export function reduceLikeKortyx(state: KortyxState | undefined, chunk: StructuredDataChunk): KortyxState {
  const { streamId, dataType } = chunk
  if (state && state.streamId !== streamId) throw new Error(`expected stream ${state.streamId}, found ${streamId}`)
  if (state?.status === 'done') throw new Error(`stream ${streamId} is done`)
  if (chunk.kind === 'final') return { streamId, dataType, status: 'done', data: chunk.data }
  const holder: Container = { data: state?.data }
  let [container, key] = [holder, 'data']
  for (const segment of chunk.path.split('.')) {
    if (segment === '') throw new Error(`empty segment in '${chunk.path}'`)
    container = ownedChild(container, key, segment)
    key = segment.replace(/^0+(?=\d+$)/, '')
  }
  const before = container[key]
  container[key] = chunk.kind === 'set' ? chunk.value : grown(before, chunk)
  return { streamId, dataType, status: 'streaming', data: holder['data'] }
}

/** Copies the child at a key into its container, or creates it for a segment. */
function ownedChild(container: Container, key: string, segment: string): Container {
  const child = container[key]
  const isArray = /^\d+$/.test(segment)
  if (child !== undefined && (typeof child !== 'object' || child === null || Array.isArray(child) !== isArray)) {
    throw new Error(`expected an ${isArray ? 'array' : 'object'} for '${segment}', found ${JSON.stringify(child)}`)
  }
  const copy = (isArray ? [...((child ?? []) as unknown[])] : { ...child }) as Container
  container[key] = copy
  return copy
}

function grown(before: unknown, chunk: Extract<StructuredDataChunk, { kind: 'append' | 'text-delta' }>): unknown {
  if (chunk.kind === 'append') {
    if (before === undefined) return [...chunk.items]
    if (Array.isArray(before)) return [...before, ...chunk.items]
  } else {
    if (before === undefined) return chunk.delta
    if (typeof before === 'string') return before + chunk.delta
  }
  throw new Error(`${chunk.kind} at '${chunk.path}': found ${JSON.stringify(before)}`)
}
