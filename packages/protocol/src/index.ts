export * from './catalogue/chunk.ts'
export * from './catalogue/guards.ts'
export { catalogue, dataRow } from './catalogue/table.ts'
export * from './catalogue/validate.ts'
export { coalesce, targetOf } from './coalesce.ts'
export * from './connection.ts'
export { type BlobRef, type Entry, type GuestOrigin, isGuest, type Origin, type WriterOrigin } from './entry.ts'
export * from './error.ts'
export type { Change } from './fold/changes.ts'
export { Fold, type FoldOptions, type Refold, type Report } from './fold/fold.ts'
export type { Gained, Mark } from './fold/growth.ts'
export { type LedgerView, messageIdOf } from './fold/ledger.ts'
export { foldLog } from './fold/log.ts'
export * from './fold/view.ts'
export * from './frame.ts'
export { type FieldKind, type Fields, type FieldUpdate, FieldWatcher } from './json/fields.ts'
export { type JsonSegment, MAX_JSON_DEPTH } from './json/parser.ts'
export { type JsonHandler, type JsonPath, type JsonStatus, JsonStream, type JsonStreamOptions } from './json/stream.ts'
export type { Json, JsonContainer, JsonObject } from './json/value.ts'
export { applyPatch, MAX_COPIED } from './state/patch.ts'
export { collectAll, collectText } from './streams/collection.ts'
export {
  excludeTypes,
  filterByAgentId,
  filterByAgentType,
  filterByType,
  filterWith,
  type OnlyTypes,
  type StreamItem,
  type WithoutTypes,
} from './streams/filter.ts'
export { combineStreams } from './streams/merge.ts'
export type { StreamOptions } from './streams/pipe.ts'
export { skip, take } from './streams/slice.ts'
export {
  StructuredAccumulator,
  type StructuredDraft,
  type StructuredInverse,
  type StructuredSnapshot,
  type StructuredState,
} from './structured/accumulator.ts'
export { MAX_DEPTH, MAX_GAP, parsePath } from './structured/path.ts'
export { applyStructuredChunk, reduceStructuredChunks } from './structured/reducer.ts'
export * from './wire/cursor.ts'
export { type DecoderOptions, FrameDecoder, MAX_FRAME_LENGTH } from './wire/decoder.ts'
export * from './wire/frames.ts'
export { Lines } from './wire/lines.ts'
export * from './wire/ndjson.ts'
export * from './wire/sse.ts'
export * from './wire/stream.ts'
