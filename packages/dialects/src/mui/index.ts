import type { Dialect } from '../dialect/dialect.ts'
import type { MuiEvent } from './chunk.ts'
import { MuiDecoder } from './decoder.ts'
import { MuiEncoder, type MuiEncoderOptions } from './encoder.ts'
import type { ChatStreamEnvelope } from './types.ts'

export { createMuiAdapter, type MuiAdapter, type MuiAdapterOptions } from './adapter.ts'
export { chatMessagesOf } from './chat-message.ts'
export type { MuiEvent, MuiExtension as Extension, MuiOrigin } from './chunk.ts'
export type { MuiEncoderOptions } from './encoder.ts'
export type * from './types.ts'

/** The chunks of MUI X Chat. */
export const muiDialect: Dialect<MuiEvent | ChatStreamEnvelope, MuiEncoderOptions> = {
  name: 'mui',
  encoder: options => new MuiEncoder(options),
  decoder: () => new MuiDecoder(),
}
