import type { Dialect } from '../dialect/dialect.ts'
import { HelixDecoder } from './decoder.ts'
import { HelixEncoder, type HelixEncoderOptions } from './encoder.ts'
import type { StreamEvent } from './types.ts'

export type { HelixEncoderOptions, ResyncPosition } from './encoder.ts'
export * from './events/guards.ts'
export * from './events/streams.ts'
export { snapshotMessagesOf } from './messages/snapshot-messages.ts'
export { type HelixOptions, helix } from './server.ts'
export type * from './types.ts'

/** The stream of Helix Agents. The decoder accepts chunks without envelopes, too. */
export const helixDialect: Omit<Dialect<StreamEvent, HelixEncoderOptions>, 'decoder'> & {
  decoder(): HelixDecoder
} = {
  name: 'helix',
  encoder: options => new HelixEncoder(options),
  decoder: () => new HelixDecoder(),
}
