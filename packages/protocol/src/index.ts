// The order of these groups is the order of the modules in a bundle, which changes its compressed size by up to 1 %. After a change of
// the order, run `npm run check -- sizes`.

// Errors and validation

export { ProtocolError, type ProtocolErrorCode } from './error/protocol-error.ts'
export {
  validateChunk,
  validateEntry,
  validateFrame,
} from './validate/validate.ts'

// Frames and streams

export { type Cursor, decodeCursor, encodeCursor, type UnprovenCursor } from './frame/cursor.ts'
export * from './frame/frame.ts'
export * from './frame/frame-writer.ts'
export { collectAll, collectText } from './streams/collect.ts'
export { combineStreams } from './streams/combine-streams.ts'
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
export type { StreamOptions } from './streams/pipe.ts'
export { skip, take } from './streams/slice.ts'

// Connections and wire formats

export * from './connection/connection.ts'
export * from './wire/decode-stream.ts'
export type { DecoderOptions } from './wire/frame-decoder.ts'

export * from './wire/ndjson.ts'
export * from './wire/sse.ts'

// JSON and structured data

export type { Json, JsonContainer, JsonObject } from './json/json.ts'
export type { JsonSegment } from './json/json-parser.ts'
export {
  type JsonHandler,
  type JsonPath,
  type JsonStatus,
  JsonStream,
  type JsonStreamOptions,
} from './json/json-stream.ts'
export { type FieldKind, type Fields, type FieldUpdate, FieldWatcher } from './structured/field-watcher.ts'
export { parsePath } from './structured/path.ts'
export { applyStructuredChunk, reduceStructuredChunks } from './structured/reducer.ts'
export { StructuredAccumulator, type StructuredSnapshot } from './structured/structured-accumulator.ts'
export type { StructuredState, UnsetItems } from './structured/structured-state.ts'

// Chunks and state

export { catalogue, isDraftChunk, isGuestChunk } from './catalogue/catalogue.ts'
export * from './catalogue/chunk.ts'
export * from './catalogue/guards.ts'
export { applyPatch } from './state/apply-patch.ts'

// The fold

export type { Change } from './fold/changes.ts'
export { Fold, type FoldOptions, type FoldReport, type Refold } from './fold/fold.ts'
export { foldLog } from './fold/fold-log.ts'
export type { TextGrowth, TextMark } from './fold/growing-text.ts'
export { type LedgerView, messageIdOf } from './fold/ledger.ts'
export type * from './fold/view.ts'

// Entries

export { coalesce } from './entry/coalesce.ts'
export { type BlobRef, type Entry, type GuestOrigin, isGuest, type Origin, type WriterOrigin } from './entry/entry.ts'
