import type { Chunk } from '@millrace/protocol'
import { supplementOf } from '../dialect/supplement.ts'
import { type AgUiEvent, withSupplement } from './event.ts'
import { chunkOf, type EventContext } from './event-to-chunk.ts'

/** An event that stands for a chunk, with what it does not say of it. */
export const annotated = (event: AgUiEvent, chunk: Chunk, known: Partial<EventContext> = {}): AgUiEvent =>
  withSupplement(event, supplementOf(chunk, chunkOf(event, known as EventContext)))

/** The same for the last of a run, beside which there is always something: what a run came to was said before by itself, and is not to be heard twice. */
export const annotatedEnd = (event: AgUiEvent, chunk: Chunk): AgUiEvent =>
  withSupplement(event, supplementOf(chunk, chunkOf(event, {} as EventContext)) ?? {})
