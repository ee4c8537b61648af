import { AgUiDecoder } from '../ag-ui/decoder.ts'
import type { AgUiEvent } from '../ag-ui/event.ts'
import type { Dialect } from '../dialect.ts'
import type { TanstackChunk } from './chunk.ts'
import { TanstackAgUiEncoder, type TanstackAgUiEncoderOptions } from './current.ts'
import { TanstackDecoder } from './decoder.ts'
import { TanstackEncoder, type TanstackEncoderOptions } from './encoder.ts'

export * from './chunk.ts'
export { boundTo, TanstackAgUiEncoder, type TanstackAgUiEncoderOptions } from './current.ts'
export { type SpokenStreamChunk, type StreamChunksOptions, streamChunks } from './direct.ts'
export type { TanstackEncoderOptions } from './encoder.ts'
export { type TanstackMessage, type TanstackPart, tanstackInterruptsOf, tanstackMessagesOf } from './messages.ts'
export { type TanstackOptions, tanstack } from './peer.ts'

/** The chunks of TanStack AI up to 0.2. */
export const tanstackDialect: Dialect<TanstackChunk, TanstackEncoderOptions> = {
  name: 'tanstack',
  encoder: options => new TanstackEncoder(options),
  decoder: () => new TanstackDecoder(),
}

/** The events of TanStack AI since 0.23: those of AG-UI, with what its clients want besides. */
export const tanstackAgUiDialect: Dialect<AgUiEvent, TanstackAgUiEncoderOptions> = {
  name: 'tanstack-ag-ui',
  encoder: options => new TanstackAgUiEncoder(options),
  decoder: () => new AgUiDecoder(),
}
