import type { FailFrame } from '@millrace/protocol'
import { Channel } from '../http/channel.ts'
import type { Sink } from '../http/reply.ts'
import { bytesOf, CONTENT_TYPES, type Format, heartbeatOf } from './format.ts'
import type { StreamSettings } from './stream-settings.ts'

/** The parts of a stream besides its content. */
export interface Framing {
  readonly contentType: string
  /** The first bytes. */
  readonly opening?: Buffer
  /** Keeps an idle connection open; undefined if clients would read it as content. */
  heartbeat(): Buffer | undefined
  /** Encodes an error; undefined if the format has none: then the connection is destroyed, since a clean end would look like success (law 7). */
  fail(frame: FailFrame): Buffer | undefined
}

/** The framing of connections that carry frames. */
export const framingOf = (format: Format, { heartbeatPadding, retryMs }: StreamSettings): Framing => ({
  contentType: CONTENT_TYPES[format],
  ...(format === 'sse' && { opening: Buffer.from(`retry: ${retryMs}\n\n`) }),
  heartbeat: () => heartbeatOf(format, heartbeatPadding),
  fail: frame => bytesOf(frame, format),
})

/** A channel with a format. */
export class StreamChannel extends Channel {
  readonly format: Format
  readonly framing: Framing

  constructor(sink: Sink, format: Format, settings: StreamSettings, framing: Framing = framingOf(format, settings)) {
    super(sink, settings)
    this.format = format
    this.framing = framing
  }
}
