import { Channel, type ChannelSettings } from '../http/channel.ts'
import type { Sink } from '../http/reply.ts'
import type { Format } from './format.ts'

/** A channel for frames, written out in one of the formats. */
export class Outlet extends Channel {
  readonly format: Format

  constructor(sink: Sink, format: Format, settings: ChannelSettings) {
    super(sink, settings)
    this.format = format
  }
}
