import type { FailFrame } from '@millrace/protocol'
import { Channel } from '../http/channel.ts'
import type { Sink } from '../http/reply.ts'
import { bytesOf, CONTENT_TYPES, type Format, heartbeatOf } from './format.ts'
import type { StreamSettings } from './stream-settings.ts'

/** What a connection says beside what it carries. */
export interface Framing {
  readonly contentType: string
  /** Comes first. */
  readonly opening?: Buffer
  /** Keeps a silent connection open; nothing, where clients would take it for something said. */
  heartbeat(): Buffer | undefined
  /** Says what went wrong; undefined where it cannot be said: then the connection breaks, since an end would look like success (law 7). */
  fail(frame: FailFrame): Buffer | undefined
}

/** The voice of connections that carry frames. */
export const framingOf = (format: Format, { heartbeatPadding, retryMs }: StreamSettings): Framing => ({
  contentType: CONTENT_TYPES[format],
  ...(format === 'sse' && { opening: Buffer.from(`retry: ${retryMs}\n\n`) }),
  heartbeat: () => heartbeatOf(format, heartbeatPadding),
  fail: frame => bytesOf(frame, format),
})

/** A channel for what is written out in one of the formats. */
export class StreamChannel extends Channel {
  readonly format: Format
  readonly framing: Framing

  constructor(sink: Sink, format: Format, settings: StreamSettings, framing: Framing = framingOf(format, settings)) {
    super(sink, settings)
    this.format = format
    this.framing = framing
  }
}
