// For the other packages of Millrace alone: these names may change in any release.

export { MAX_DUE } from './manager/manager-options.ts'
export type { EntriesSince, FoldedLog, SnapshotRef } from './manager/stream-manager.ts'
export type { BatchReader } from './read/batch-reader.ts'
export type { LiveSubscriber } from './read/live-fanout.ts'
export { entriesJsonOf, type ReadBatch } from './read/read-batch.ts'
export type { AppendListener, OwnAppend } from './store/append-listener.ts'
export { isPublicBlob } from './store/blobs.ts'
export { qualifiedId, withSessionIds } from './store/session-id.ts'
export { startWorker } from './store/start-worker.ts'
export { MAX_TIMER_MS } from './store/timers.ts'
export { schemeOf } from './stores/open-store.ts'
export { MAX_PENDINGS } from './ticket/batch-problem.ts'
export { type GuestRefusalReason, MAX_CLAIM_MS } from './ticket/guest-refusal-reason.ts'
export { MAX_NOTICES, noticeAndDeadlineProgram, noticeProgram, type TicketNotice } from './ticket/notice.ts'
export {
  MAX_METADATA_BYTES,
  MAX_METADATA_DEPTH,
  MAX_TITLE,
  metadataProblem,
  previewLine,
} from './ticket/session-info.ts'
export {
  advance,
  EMPTY_TICKET,
  isAtRest,
  mustStop,
  pauseOf,
  pendingKey,
  runDueOf,
  stopStatus,
} from './ticket/ticket.ts'
export type { BatchLike } from './write/lane.ts'
