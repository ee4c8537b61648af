// For the other packages of Millrace alone: these names may change in any release.

export { MOST_DUE } from './manager/manager-options.ts'
export type { EntriesSince, FoldedLog, ReadEntry, SnapshotRef } from './manager/stream-manager.ts'
export { type BatchReader, entriesJsonOf, type ReadBatch } from './read/batch-reader.ts'
export { LruCache } from './read/lru-cache.ts'
export { isPublicBlob } from './store/blobs.ts'
export { schemeOf } from './stores/open-store.ts'
export { lineOf, MAX_METADATA_BYTES, MAX_METADATA_DEPTH, MAX_TITLE, metadataProblem } from './ticket/about.ts'
export { MAX_CLAIM, type Refusal } from './ticket/admission.ts'
export { MAX_PENDINGS } from './ticket/batch-problem.ts'
export { lateProgram, MAX_NOTICES, noticeProgram, type TicketNotice } from './ticket/notice.ts'
export { advance, EMPTY_TICKET, mustStop, pauseOf, pendingKey, runDueOf, stopStatus } from './ticket/ticket.ts'
export type { BatchLike } from './write/lane.ts'
