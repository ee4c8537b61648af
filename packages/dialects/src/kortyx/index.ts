import type { Dialect } from '../dialect/dialect.ts'
import { KortyxDecoder } from './decoder.ts'
import { KortyxEncoder, type KortyxEncoderOptions } from './encoder.ts'
import type { KortyxChunk } from './types.ts'

export type { KortyxEncoderOptions } from './encoder.ts'
export type { KortyxExtension as Extension } from './events/extension.ts'
export { type AnsweredRequest, answerFromSelection } from './events/interrupt.ts'
export { type BufferedStreamResult, summarizeStreamChunks } from './events/summarize-stream-chunks.ts'
export { type KortyxOptions, kortyx } from './server.ts'
export type {
  InterruptInput,
  KortyxChunk as StreamChunk,
  StructuredDataChunk,
} from './types.ts'

/** The chunk stream of Kortyx. */
export const kortyxDialect: Dialect<KortyxChunk, KortyxEncoderOptions> = {
  name: 'kortyx',
  encoder: options => new KortyxEncoder(options),
  decoder: () => new KortyxDecoder(),
}
