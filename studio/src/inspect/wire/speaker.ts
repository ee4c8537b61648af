// A run as a connection would carry it, in the bytes of a dialect.

import type { Encoder, EndStatus } from '@millrace/dialects'
import type { Entry, View } from '@millrace/protocol'

/** The run that is to be said. */
export interface Said {
  readonly sessionId: string
  readonly runId: string
  /** Which run of the session it is, from 1. */
  readonly turn: number
  /** What there was before it. */
  before(): View
}

/** Says entries on one connection: each piece is an event as it goes over the wire. */
export interface Speaker {
  say(entry: Entry): readonly string[]
  /** Another connection goes on from here. */
  resume(): readonly string[]
  end(status: EndStatus): readonly string[]
}

/** A way to carry a run. */
export interface WireFormat {
  readonly id: string
  readonly name: string
  /** Gives what makes speakers: the dialect is loaded when somebody wants to see it. */
  load(): Promise<(said: Said) => Speaker>
}

/** An event as one of `text/event-stream`. */
export const eventOf = (event: unknown): string => `data: ${JSON.stringify(event)}\n\n`

interface SpeakerOptions<Event> {
  /** One event as text; its place is that of its entry, and which of its events it is. */
  readonly write?: (event: Event, place: string, entry: Entry | undefined) => string
  /** What comes after the last. */
  readonly closing?: readonly string[]
}

/** A speaker of what an encoder says. */
export function speakerOf<Event>(encoder: Encoder<Event>, options: SpeakerOptions<Event> = {}): Speaker {
  const { write = eventOf, closing = [] } = options
  let last: Entry | undefined
  let count = 0
  const written = (events: readonly Event[]) =>
    events.map(event => write(event, `${last?.sequence ?? 0}.${count++}`, last))
  return {
    say: entry => {
      last = entry
      count = 0
      return written(encoder.encode(entry))
    },
    resume: () => written(encoder.resume()),
    end: status => [...written(encoder.end(status)), ...closing],
  }
}
