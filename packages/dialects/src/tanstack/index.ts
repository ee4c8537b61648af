import { AgUiDecoder } from '../ag-ui/decoder.ts'
import type { AgUiEvent } from '../ag-ui/types.ts'
import type { Dialect } from '../dialect/dialect.ts'
import { TanstackDecoder } from './decoder.ts'
import { TanstackAgUiEncoder, type TanstackAgUiEncoderOptions } from './encode/ag-ui-encoder.ts'
import { TanstackEncoder, type TanstackEncoderOptions } from './encoder.ts'
import type { TanstackChunk } from './types.ts'

export { TanstackAgUiEncoder, type TanstackAgUiEncoderOptions } from './encode/ag-ui-encoder.ts'
export {
  type ServedStreamChunk,
  type StreamChunksOptions,
  streamChunks,
  type TanstackEncoderOptions,
} from './encoder.ts'
export {
  type TanstackMessage,
  type TanstackPart,
  tanstackInterruptsOf,
  tanstackMessagesOf,
} from './messages/tanstack-messages.ts'
export { type TanstackOptions, tanstack } from './server.ts'
export type { TanstackStreamChunk as StreamChunk } from './types.ts'
export * from './types.ts'

/** The chunks of TanStack AI up to 0.2. */
export const tanstackDialect: Dialect<TanstackChunk, TanstackEncoderOptions> = {
  name: 'tanstack',
  encoder: options => new TanstackEncoder(options),
  decoder: () => new TanstackDecoder(),
}

/** The events of TanStack AI since 0.23: those of AG-UI with additions for its clients. */
export const tanstackAgUiDialect: Dialect<AgUiEvent, TanstackAgUiEncoderOptions> = {
  name: 'tanstack-ag-ui',
  encoder: options => new TanstackAgUiEncoder(options),
  decoder: () => new AgUiDecoder(),
}
