import type { FailFrame } from '@millrace/protocol'
import { Channel } from '../http/channel.ts'
import type { Sink } from '../http/reply.ts'
import { bytesOf, CONTENT_TYPES, type Format, heartbeatOf } from './format.ts'
import type { StreamSettings } from './stream-settings.ts'

/** Content type and control bytes of a stream. */
export interface Framing {
  readonly contentType: string
  /** The first bytes. */
  readonly opening?: Buffer
  /** Bytes that keep an idle connection open. Undefined if clients would read them as content. */
  heartbeat(): Buffer | undefined
  /**
   * Encodes an error. Undefined if the format has no errors: the channel then destroys the connection, because a clean end
   * would look like success (law 7).
   */
  fail(frame: FailFrame): Buffer | undefined
}

/** The framing of connections that carry frames. */
export const framingOf = (format: Format, { heartbeatPadding, retryMs }: StreamSettings): Framing => ({
  contentType: CONTENT_TYPES[format],
  ...(format === 'sse' && { opening: Buffer.from(`retry: ${retryMs}\n\n`) }),
  heartbeat: () => heartbeatOf(format, heartbeatPadding),
  fail: frame => bytesOf(frame, format),
})

/** A channel that knows its format and framing. */
export class StreamChannel extends Channel {
  readonly format: Format
  readonly framing: Framing

  constructor(sink: Sink, format: Format, settings: StreamSettings, framing: Framing = framingOf(format, settings)) {
    super(sink, settings)
    this.format = format
    this.framing = framing
  }
}
