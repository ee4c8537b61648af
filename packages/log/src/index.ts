export type { Failure } from './compat/stream-lifecycle.ts'
export { MOST_DUE } from './manager/manager-options.ts'
export {
  type CreateWriterOptions,
  type CutRequest,
  type FoldedLog,
  type ListedStream,
  type News,
  type Reach,
  type ReadEntry,
  type ReadFrom,
  type StreamInfo,
  StreamManager,
  type StreamManagerOptions,
} from './manager/stream-manager.ts'
export { type BatchReader, type ReadBatch, type ReaderOptions, textOf } from './read/batch-reader.ts'
export { LruCache as Recent } from './read/lru-cache.ts'
export type { Reading } from './read/reading.ts'
export type { Retention } from './retention/trim.ts'
export { isPublicBlob } from './store/blobs.ts'
export type { NewEntry } from './store/entry.ts'
export * from './store/log-error.ts'
export type * from './store/log-store.ts'
export { systemTimers, type Timers } from './store/timers.ts'
export { Memory, type MemoryOptions, memoryStore } from './stores/memory/memory-store.ts'
export { openStore, schemeOf } from './stores/open-store.ts'
export {
  lineOf,
  MAX_LINE,
  MAX_METADATA_BYTES,
  MAX_METADATA_DEPTH,
  MAX_TITLE,
  metadataProblem,
  type TicketAbout,
} from './ticket/about.ts'
export { MAX_CLAIM, type Refusal } from './ticket/admission.ts'
export { MAX_PENDINGS } from './ticket/batch-problem.ts'
export { lateProgram, MAX_NOTICES, noticeProgram, type TicketNotice } from './ticket/notice.ts'
export {
  advance,
  dueOf,
  EMPTY_TICKET,
  mustStop,
  pauseOf,
  pendingKey,
  runDueOf,
  type StreamStatus,
  stopStatus,
  type Ticket,
  type TicketPending,
  type TicketRequest,
} from './ticket/ticket.ts'
export type { GuestOptions, GuestOutcome } from './write/guest-append.ts'
export type {
  BatchLike,
  CommitOptions,
  Committed,
  Discard,
  Lane,
  Said,
  Write,
  WriteOptions,
  Written,
} from './write/lane.ts'
export type { Writer } from './write/writer.ts'
