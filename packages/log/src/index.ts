export type { RunFailure } from './compat/stream-lifecycle.ts'
export type { OwnedSession } from './manager/owned-session.ts'
export {
  type CreateWriterOptions,
  type ListedStream,
  type OldestStream,
  type ReadEntry,
  type ReadFrom,
  type StreamInfo,
  StreamManager,
  type StreamManagerOptions,
} from './manager/stream-manager.ts'
export type { ReaderOptions } from './read/batch-reader.ts'
export type { Reading } from './read/reading.ts'
export type { Retention } from './retention/trim.ts'
export type { NewEntry } from './store/entry.ts'
export * from './store/log-error.ts'
export type * from './store/log-store.ts'
export { sessionIdOf } from './store/session-id.ts'
export { systemTimers, type Timers } from './store/timers.ts'
export { Memory, type MemoryOptions, memoryStore } from './stores/memory/memory-store.ts'
export { openStore } from './stores/open-store.ts'
export type { Checkpoint, StreamStatus, Ticket, TicketPending, TicketRequest, TicketRun } from './ticket/ticket.ts'
export type { GuestOptions, GuestOutcome } from './write/guest-append.ts'
export type { BatchItem, CommitOptions, Committed, Discard, Lane, Write, WriteOptions, Written } from './write/lane.ts'
export type { Writer } from './write/writer.ts'
