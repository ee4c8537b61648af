import type { Dialect } from '../dialect/dialect.ts'
import { AgUiDecoder } from './decoder.ts'
import { AgUiEncoder, type AgUiEncoderOptions } from './encoder.ts'
import type { AgUiEvent } from './event.ts'

export { type AgUiBefore, AgUiEncoder, type AgUiEncoderOptions } from './encoder.ts'
export {
  type AgUiContent,
  type AgUiEvent,
  type AgUiInterrupt,
  type AgUiMessage,
  type AgUiMetadata,
  type AgUiOutcome,
  type AgUiToolCall,
  type AgUiUsage,
  type EventOf,
  EXTENSION,
} from './event.ts'
export { type AgUiResume, answerFromResume, questionIdOf } from './interrupts.ts'
export { aguiMessagesOf } from './messages.ts'
export { type Resumable, type ResumableOptions, resumable } from './resumable.ts'
export { type AgUiOptions, AgUiServer, type AgUiTool, agUi } from './server.ts'

/** The events of AG-UI. */
export const agUiDialect: Dialect<AgUiEvent, AgUiEncoderOptions> = {
  name: 'ag-ui',
  encoder: options => new AgUiEncoder(options),
  decoder: () => new AgUiDecoder(),
}
