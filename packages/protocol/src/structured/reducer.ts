import type { StructuredDataChunk } from '../catalogue/guards.ts'
import { ProtocolError, shortened } from '../error/protocol-error.ts'
import { StructuredAccumulator } from './structured-accumulator.ts'
import type { StructuredState } from './structured-state.ts'
import { writeChunk } from './write-chunk.ts'

/**
 * Returns the state after a chunk. The given state is not changed: the containers on the path are copied, so n appends to an array
 * cost O(n²). Use a `StructuredAccumulator` for a stream whose states between two reads are not needed: there they cost O(n).
 * @throws ProtocolError for a chunk of another stream, a chunk after the final one, an invalid path, or a path that conflicts
 * with the data, checked in this order.
 */
export function applyStructuredChunk(
  current: StructuredState | undefined,
  chunk: StructuredDataChunk,
): StructuredState {
  return writeChunk(current, chunk)
}

/**
 * Returns the states of all streams after the chunks, by `streamId`, in linear time.
 * @throws ProtocolError for the first invalid chunk, with its index.
 */
export function reduceStructuredChunks(chunks: Iterable<StructuredDataChunk>): Record<string, StructuredState> {
  const accumulators = new Map<string, StructuredAccumulator>()
  let index = 0
  for (const chunk of chunks) {
    const accumulator = accumulators.get(chunk.streamId) ?? new StructuredAccumulator()
    accumulators.set(chunk.streamId, accumulator)
    try {
      accumulator.write(chunk)
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      throw new ProtocolError(error.code, `chunk ${index} (stream '${shortened(chunk.streamId)}'): ${error.message}`)
    }
    index++
  }
  return Object.fromEntries(
    Array.from(accumulators, ([streamId, accumulator]) => [streamId, accumulator.read() as StructuredState]),
  )
}
