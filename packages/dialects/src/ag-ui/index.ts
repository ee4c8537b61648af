import type { Dialect } from '../dialect/dialect.ts'
import { AgUiDecoder } from './decoder.ts'
import { AgUiEncoder, type AgUiEncoderOptions } from './encoder.ts'
import type { AgUiEvent } from './types.ts'

export { type Resumable, type ResumableOptions, resumable } from './client/resumable.ts'
export { AgUiEncoder, type AgUiEncoderOptions, type AgUiHistory } from './encoder.ts'
export type { AgUiResume } from './events/interrupts.ts'
export { aguiMessagesOf } from './messages/agui-messages.ts'
export { type AgUiOptions, AgUiServer, type AgUiTool, agUi } from './server.ts'
export type {
  AgUiContent,
  AgUiEvent,
  AgUiInterrupt,
  AgUiMessage,
  AgUiMetadata,
  AgUiOutcome,
  AgUiToolCall,
  AgUiUsage,
  EventOf,
} from './types.ts'

/** The events of AG-UI. */
export const agUiDialect: Dialect<AgUiEvent, AgUiEncoderOptions> = {
  name: 'ag-ui',
  encoder: options => new AgUiEncoder(options),
  decoder: () => new AgUiDecoder(),
}
