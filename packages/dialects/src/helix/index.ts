import type { Dialect } from '../dialect/dialect.ts'
import { HelixDecoder } from './decoder.ts'
import { HelixEncoder, type HelixEncoderOptions } from './encoder.ts'
import type { StreamEvent } from './event.ts'

export type * from './chunk.ts'
export type { HelixEncoderOptions, ResyncPosition as ResyncPlace } from './encoder.ts'
export type * from './event.ts'
export * from './guards.ts'
export { snapshotMessagesOf } from './message.ts'
export { type HelixOptions, helix } from './server.ts'
export * from './streams.ts'
export { EXTENSION } from './translate.ts'

/** The stream of Helix Agents. The decoder accepts chunks without envelopes, too. */
export const helixDialect: Omit<Dialect<StreamEvent, HelixEncoderOptions>, 'decoder'> & {
  decoder(): HelixDecoder
} = {
  name: 'helix',
  encoder: options => new HelixEncoder(options),
  decoder: () => new HelixDecoder(),
}
