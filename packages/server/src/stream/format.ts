// Encodes frames as Server-Sent Events or NDJSON. The JSON of entries, which is most of the output, is built once for all connections that share it.

import { entriesJsonOf } from '@millrace/log/internal'
import { type Entry, type Frame, NDJSON_HEARTBEAT, packFrame, SSE_HEARTBEAT } from '@millrace/protocol'

export type Format = 'sse' | 'ndjson'

export const CONTENT_TYPES = { sse: 'text/event-stream; charset=utf-8', ndjson: 'application/x-ndjson; charset=utf-8' }

/** The bytes of a frame other than `entries`. */
export function bytesOf(frame: Exclude<Frame, { type: 'entries' }>, format: Format): Buffer {
  return encode(JSON.stringify(frame), 'cursor' in frame ? frame.cursor : undefined, format)
}

/** The bytes that keep an idle connection open, with padding for proxies that buffer short writes. */
export function heartbeatOf(format: Format, padding = 0): Buffer {
  if (format === 'ndjson') return Buffer.from(NDJSON_HEARTBEAT.repeat(1 + padding))
  return Buffer.from(padding === 0 ? SSE_HEARTBEAT : `:${' '.repeat(padding)}\n\n`)
}

/** A batch with its position: the content of an `entries` frame. */
export interface FrameBatch {
  readonly after: number
  readonly sequence: number
  readonly cursor: string
  readonly entries: readonly Entry[]
}

/** The `entries` frame of a batch. Caches the JSON of the entries, and the bytes of each variant that connections need. */
export class EntriesFrame {
  readonly batch: FrameBatch
  readonly #sessionId: string
  #entriesJson: string | undefined
  #isPaused: boolean | null | undefined
  /** Cached bytes by variant: format, with or without `sessionId`, with or without `after`. */
  readonly #bytes: Buffer[] = []

  constructor(sessionId: string, batch: FrameBatch) {
    this.#sessionId = sessionId
    this.batch = batch
  }

  /**
   * The bytes for a connection whose last frame of this session ended at `last`; null if there was none.
   * They contain `sessionId` if `isNamed`, and `after` if the frame does not directly follow the last one.
   */
  bytes(format: Format, isNamed: boolean, last: number | null): Buffer {
    const { after } = this.batch
    const isNext = last === after
    const variant = (format === 'sse' ? 1 : 0) + (isNamed ? 2 : 0) + (isNext ? 4 : 0)
    const cached = this.#bytes[variant]
    if (cached) return cached
    const { sequence, cursor } = this.batch
    const sessionField = isNamed ? `"sessionId":${JSON.stringify(this.#sessionId)},` : ''
    const afterField = isNext ? '' : `"after":${after},`
    const text = `{"type":"entries",${sessionField}${afterField}"sequence":${sequence},"entries":${this.#json()},"cursor":"${cursor}"}`
    const bytes = encode(text, cursor, format)
    this.#bytes[variant] = bytes
    return bytes
  }

  /** Whether the session is paused after this batch; null if the batch does not change that. */
  get isPaused(): boolean | null {
    if (this.#isPaused === undefined) {
      // Most batches contain no `run-*` chunk: the text search skips them quickly.
      const { entries } = this.#json().includes(RUN_TYPE_PREFIX) ? this.batch : NO_ENTRIES
      const last = entries.findLast(({ chunk }) => STATUS_TYPES.has(chunk.type))
      this.#isPaused = last === undefined ? null : last.chunk.type === 'run-paused'
    }
    return this.#isPaused
  }

  #json(): string {
    this.#entriesJson ??= entriesJsonOf(this.batch) ?? entriesJson(this.batch)
    return this.#entriesJson
  }
}

/** The latest frame. The fan-out delivers a batch to all followers of a session in one task, so a cache of one is enough. */
let latest: EntriesFrame | undefined

/** The frame of a batch, made once for all followers that get the same batch. */
export function entriesFrameOf(sessionId: string, batch: FrameBatch): EntriesFrame {
  if (latest?.batch !== batch) latest = new EntriesFrame(sessionId, batch)
  return latest
}

/** Chunk types that pause a session or end a pause, and their common prefix in JSON. */
const STATUS_TYPES = new Set(['run-paused', 'run-resumed', 'run-started', 'run-finished'])
const RUN_TYPE_PREFIX = '"type":"run-'
const NO_ENTRIES: Pick<FrameBatch, 'entries'> = { entries: [] }

/** The entries of a batch as the JSON in its frame. */
function entriesJson(batch: FrameBatch): string {
  const frame = packFrame({ type: 'entries', ...batch, entries: batch.entries as Entry[] })
  return JSON.stringify('entries' in frame ? frame.entries : [])
}

function encode(text: string, cursor: string | undefined, format: Format): Buffer {
  if (format === 'ndjson') return Buffer.from(`${text}\n`)
  return Buffer.from(cursor === undefined ? `data: ${text}\n\n` : `id: ${cursor}\ndata: ${text}\n\n`)
}
