import type { Chunk } from '@millrace/protocol'
import { asideOf } from '../dialect/supplement.ts'
import { type AgUiEvent, beside } from './event.ts'
import { type Known, plainOf } from './event-to-chunk.ts'

/** An event that stands for a chunk, with what it does not say of it. */
export const meaning = (event: AgUiEvent, chunk: Chunk, known: Partial<Known> = {}): AgUiEvent =>
  beside(event, asideOf(chunk, plainOf(event, known as Known)))

/** The same for the last of a run, beside which there is always something: what a run came to was said before by itself, and is not to be heard twice. */
export const ending = (event: AgUiEvent, chunk: Chunk): AgUiEvent =>
  beside(event, asideOf(chunk, plainOf(event, {} as Known)) ?? {})
