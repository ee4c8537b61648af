// How frames are written: as Server-Sent Events or as NDJSON. The text of entries, which is most of it, is made once for all who can share it.

import { entriesJsonOf } from '@millrace/log/internal'
import { type Entry, type Frame, NDJSON_HEARTBEAT, packFrame, SSE_HEARTBEAT } from '@millrace/protocol'

export type Format = 'sse' | 'ndjson'

export const CONTENT_TYPES = { sse: 'text/event-stream; charset=utf-8', ndjson: 'application/x-ndjson; charset=utf-8' }

/** A frame that is no `entries`, as bytes. */
export function bytesOf(frame: Exclude<Frame, { type: 'entries' }>, format: Format): Buffer {
  return written(JSON.stringify(frame), 'cursor' in frame ? frame.cursor : undefined, format)
}

/** What keeps a silent connection open; with so many characters of padding for proxies that wait for more. */
export function heartbeatOf(format: Format, padding = 0): Buffer {
  if (format === 'ndjson') return Buffer.from(NDJSON_HEARTBEAT.repeat(1 + padding))
  return Buffer.from(padding === 0 ? SSE_HEARTBEAT : `:${' '.repeat(padding)}\n\n`)
}

/** A piece of a log: what its frame says. */
export interface Piece {
  readonly after: number
  readonly sequence: number
  readonly cursor: string
  readonly entries: readonly Entry[]
}

/** The `entries` frame of a piece: its entries are written out once, and each way in which connections carry it once more. */
export class EntriesFrame {
  readonly piece: Piece
  readonly #sessionId: string
  #entries: string | undefined
  #isPaused: boolean | null | undefined
  /** By which of its ways it is. */
  readonly #bytes: Buffer[] = []

  constructor(sessionId: string, piece: Piece) {
    this.#sessionId = sessionId
    this.piece = piece
  }

  /** As a connection carries it whose last frame of this session reached `last`; null if it had none. */
  bytes(format: Format, isNamed: boolean, last: number | null): Buffer {
    const { after } = this.piece
    const isNext = last === after
    const way = (format === 'sse' ? 1 : 0) + (isNamed ? 2 : 0) + (isNext ? 4 : 0)
    const known = this.#bytes[way]
    if (known) return known
    const { sequence, cursor } = this.piece
    const session = isNamed ? `"sessionId":${JSON.stringify(this.#sessionId)},` : ''
    const from = isNext ? '' : `"after":${after},`
    const text = `{"type":"entries",${session}${from}"sequence":${sequence},"entries":${this.#text()},"cursor":"${cursor}"}`
    const bytes = written(text, cursor, format)
    this.#bytes[way] = bytes
    return bytes
  }

  /** Whether the session waits after it; null where it says nothing of that. */
  get isPaused(): boolean | null {
    if (this.#isPaused === undefined) {
      // Most say nothing of a run, and need not be looked into to know.
      const { entries } = this.#text().includes(OF_RUNS) ? this.piece : NOTHING
      const last = entries.findLast(({ chunk }) => PAUSES.has(chunk.type))
      this.#isPaused = last === undefined ? null : last.chunk.type === 'run-paused'
    }
    return this.#isPaused
  }

  #text(): string {
    this.#entries ??= entriesJsonOf(this.piece) ?? packed(this.piece)
    return this.#entries
  }
}

/** The latest frame. The fan-out delivers a piece to all followers of a session in one task, so a cache of one is enough. */
let latest: EntriesFrame | undefined

/** The frame of a piece, made once for all followers that get the same piece. */
export function entriesFrameOf(sessionId: string, piece: Piece): EntriesFrame {
  if (latest?.piece !== piece) latest = new EntriesFrame(sessionId, piece)
  return latest
}

/** What says that a session waits, or does not any more, and how all of it begins. */
const PAUSES = new Set(['run-paused', 'run-resumed', 'run-started', 'run-finished'])
const OF_RUNS = '"type":"run-'
const NOTHING: Pick<Piece, 'entries'> = { entries: [] }

/** The entries of a piece as the JSON of its frame. */
function packed(piece: Piece): string {
  const frame = packFrame({ type: 'entries', ...piece, entries: piece.entries as Entry[] })
  return JSON.stringify('entries' in frame ? frame.entries : [])
}

function written(text: string, cursor: string | undefined, format: Format): Buffer {
  if (format === 'ndjson') return Buffer.from(`${text}\n`)
  return Buffer.from(cursor === undefined ? `data: ${text}\n\n` : `id: ${cursor}\ndata: ${text}\n\n`)
}
