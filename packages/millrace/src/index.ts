// The one import for a server: what it defines, runs and waits for, and where that is kept.

export {
  LogError,
  type LogErrorCode,
  type LogStore,
  memoryStore,
  openStore,
  systemTimers,
  type Ticket,
  type Timers,
} from '@millrace/log'
export type {
  Chunk,
  Entry,
  FinishReason,
  Interrupt,
  Json,
  JsonObject,
  Message,
  Part,
  Pending,
  PendingRef,
  RunStatus,
  TextPart,
  ToolPart,
  Usage,
  View,
} from '@millrace/protocol'
export * from '@millrace/runtime'
export * from '@millrace/server'
