import type { Dialect } from '../dialect/dialect.ts'
import { MuiDecoder } from './decoder.ts'
import { MuiEncoder, type MuiEncoderOptions } from './encoder.ts'
import type { MuiEvent } from './events/mui-event.ts'
import type { ChatStreamEnvelope } from './types.ts'

export { createMuiAdapter, type MuiAdapter, type MuiAdapterOptions } from './adapter.ts'
export type { MuiEncoderOptions } from './encoder.ts'
export type { MuiEvent, MuiExtension as Extension, MuiOrigin } from './events/mui-event.ts'
export { chatMessagesOf } from './messages/chat-messages.ts'
export type * from './types.ts'

/** The chunks of MUI X Chat. */
export const muiDialect: Dialect<MuiEvent | ChatStreamEnvelope, MuiEncoderOptions> = {
  name: 'mui',
  encoder: options => new MuiEncoder(options),
  decoder: () => new MuiDecoder(),
}
