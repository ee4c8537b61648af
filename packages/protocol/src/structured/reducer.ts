import type { StructuredDataChunk } from '../catalogue/guards.ts'
import { ProtocolError, shortened } from '../error/protocol-error.ts'
import { StructuredAccumulator, type StructuredState } from './structured-accumulator.ts'

/**
 * The state after a chunk, from the state before it, which stays as it is: copies only along the path. Throws a
 * `ProtocolError` for another stream's chunk, a chunk after the final one, a bad path, and a path that what is there
 * does not allow, in this order.
 */
export function applyStructuredChunk(
  current: StructuredState | undefined,
  chunk: StructuredDataChunk,
): StructuredState {
  const accumulator = StructuredAccumulator.restore({ state: current })
  accumulator.write(chunk)
  return accumulator.read() as StructuredState
}

/** The states of all streams after the chunks, by `streamId`, in linear time; throws at the first bad chunk and names it. */
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
  return Object.fromEntries(Array.from(accumulators, ([streamId, one]) => [streamId, one.read() as StructuredState]))
}
