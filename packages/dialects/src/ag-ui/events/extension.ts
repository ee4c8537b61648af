import type { Chunk, Json, Origin } from '@millrace/protocol'
import type { Supplement } from '../../dialect/supplement.ts'
import type { AgUiEvent } from '../types.ts'

/** The name of custom events for chunks that AG-UI has no type for. `value` is the chunk. */
export const EXTENSION = 'millrace'

/** Adds a supplement to an event. */
export const withSupplement = (event: AgUiEvent, supplement: Supplement | undefined): AgUiEvent =>
  supplement === undefined ? event : ({ ...event, metadata: { ...event.metadata, millrace: supplement } } as AgUiEvent)

/** Marks an event that represents no chunk. */
export const derived = (event: AgUiEvent): AgUiEvent => withSupplement(event, null)

/** Adds the origin to the events of a chunk, if a guest wrote it. */
export function withGuestMetadata(events: readonly AgUiEvent[], origin: Origin | undefined): readonly AgUiEvent[] {
  if (origin?.guest === undefined) return events
  const withOrigin = (event: AgUiEvent) =>
    ({ ...event, metadata: { ...event.metadata, millraceOrigin: origin } }) as AgUiEvent
  return events.map(event => (event.metadata?.millrace === null ? event : withOrigin(event)))
}

/** Wraps a chunk that AG-UI has no type for. */
export const extension = (chunk: Chunk, tag: { readonly subagentRunId?: string }): AgUiEvent => ({
  type: 'CUSTOM',
  name: EXTENSION,
  value: chunk as unknown as Json,
  ...tag,
})
