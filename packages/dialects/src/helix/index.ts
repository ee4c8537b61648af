import type { Dialect } from '../dialect.ts'
import { HelixDecoder } from './decoder.ts'
import { HelixEncoder, type HelixEncoderOptions } from './encoder.ts'
import type { StreamEvent } from './event.ts'

export type * from './chunk.ts'
export type { HelixEncoderOptions, ResyncPlace } from './encoder.ts'
export type * from './event.ts'
export * from './guards.ts'
export { snapshotMessagesOf } from './message.ts'
export { type HelixOptions, helix } from './peer.ts'
export { EXTENSION } from './plain.ts'
export * from './streams.ts'

/** The stream of Helix Agents. What is read may also be its chunks without envelopes. */
export const helixDialect: Omit<Dialect<StreamEvent, HelixEncoderOptions>, 'decoder'> & {
  decoder(): HelixDecoder
} = {
  name: 'helix',
  encoder: options => new HelixEncoder(options),
  decoder: () => new HelixDecoder(),
}
