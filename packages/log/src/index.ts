export type { NewEntry } from './entry.ts'
export * from './error.ts'
export { isPublicBlob } from './manager/blobs.ts'
export type { Failure } from './manager/ending.ts'
export type { GuestOptions, GuestOutcome } from './manager/guest.ts'
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
} from './manager/lane.ts'
export type { ListedStream } from './manager/listing.ts'
export {
  type CreateWriterOptions,
  type CutRequest,
  type FoldedLog,
  type News,
  type Reach,
  type ReadEntry,
  type ReadFrom,
  type StreamInfo,
  StreamManager,
  type StreamManagerOptions,
} from './manager/manager.ts'
export { type BatchReader, type ReadBatch, type ReaderOptions, textOf } from './manager/reader.ts'
export type { Reading } from './manager/reading.ts'
export { Recent } from './manager/recent.ts'
export type { Retention } from './manager/retention.ts'
export { MOST_DUE } from './manager/settings.ts'
export { systemTimers, type Timers } from './manager/timers.ts'
export type { Writer } from './manager/writer.ts'
export { Memory, type MemoryOptions, memoryStore } from './memory/store.ts'
export { openStore, schemeOf } from './open.ts'
export type * from './store.ts'
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
export { MAX_PENDINGS } from './ticket/legality.ts'
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
