import type { Dialect } from '../dialect/dialect.ts'
import { AiSdkDecoder } from './decoder.ts'
import { AiSdkEncoder, type AiSdkEncoderOptions } from './encoder.ts'
import type { UIMessageChunk } from './types.ts'

export type { AiSdkEncoderOptions } from './encoder.ts'
export type { AiSdkExtension as Extension } from './events/extension.ts'
export { type UIMessage, type UIMessagePart, type UIMessagesInput, uiMessagesOf } from './messages/ui-messages.ts'
export { type AiSdkOptions, aiSdk } from './server.ts'
export {
  type ChunkStream,
  type MillraceTransport,
  type MillraceTransportOptions,
  millraceTransport,
  type SendRequest,
  type TransportRequest,
} from './transport.ts'
export type { UIMessageChunk } from './types.ts'

/** The UI message stream of the AI SDK. */
export const aiSdkDialect: Dialect<UIMessageChunk, AiSdkEncoderOptions> = {
  name: 'ai-sdk',
  encoder: options => new AiSdkEncoder(options),
  decoder: () => new AiSdkDecoder(),
}
