import { Channel } from '../http/channel.ts'
import type { Sink } from '../http/reply.ts'
import type { Format } from './format.ts'
import type { StreamSettings } from './stream-settings.ts'
import { type Voice, voiceOf } from './voice.ts'

/** A channel for what is written out in one of the formats. */
export class Outlet extends Channel {
  readonly format: Format
  readonly voice: Voice

  constructor(sink: Sink, format: Format, settings: StreamSettings, voice: Voice = voiceOf(format, settings)) {
    super(sink, settings)
    this.format = format
    this.voice = voice
  }
}
