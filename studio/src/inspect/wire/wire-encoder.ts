// Encodes a run in a wire format.

import type { Encoder, EndStatus } from '@millrace/dialects'
import type { Entry, View } from '@millrace/protocol'

/** The run to encode. */
export interface WireRun {
  readonly sessionId: string
  readonly runId: string
  /** Number of the run in the session, from 1. */
  readonly turn: number
  /** The view before the run. */
  before(): View
}

/** Encodes the entries of one connection. Each returned text is one event. */
export interface WireEncoder {
  encode(entry: Entry): readonly string[]
  /** Events that start a resumed connection. */
  resume(): readonly string[]
  end(status: EndStatus): readonly string[]
}

/** A wire format. */
export interface WireFormat {
  readonly id: string
  readonly name: string
  /** Loads the dialect and returns a factory of encoders. */
  load(): Promise<(run: WireRun) => WireEncoder>
}

/** Formats an event as `text/event-stream`. */
export const eventOf = (event: unknown): string => `data: ${JSON.stringify(event)}\n\n`

interface WireEncoderOptions<Event> {
  /** Formats an event. `eventId` is the sequence of its entry and its index among the entry's events. */
  readonly write?: (event: Event, eventId: string, entry: Entry | undefined) => string
  /** Events after the last one. */
  readonly closing?: readonly string[]
}

/** Wraps the encoder of a dialect. */
export function wireEncoder<Event>(encoder: Encoder<Event>, options: WireEncoderOptions<Event> = {}): WireEncoder {
  const { write = eventOf, closing = [] } = options
  let last: Entry | undefined
  let count = 0
  const format = (events: readonly Event[]) =>
    events.map(event => write(event, `${last?.sequence ?? 0}.${count++}`, last))
  return {
    encode: entry => {
      last = entry
      count = 0
      return format(encoder.encode(entry))
    },
    resume: () => format(encoder.resume()),
    end: status => [...format(encoder.end(status)), ...closing],
  }
}
