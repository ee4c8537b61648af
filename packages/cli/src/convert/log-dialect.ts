// The log of Millrace as a dialect: one entry per line.

import { encodeRecording } from '@millrace/client/log'
import type { DecodedChunk, Decoder, Encoder, EndStatus } from '@millrace/dialects'
import {
  type Chunk,
  type Entry,
  type Frame,
  FrameReader,
  ProtocolError,
  validateEntry,
  validateFrame,
  type WriterOrigin,
} from '@millrace/protocol'
import { MAIN_LANE } from '@millrace/protocol/internal'

/** Reads one run of a log: from a recording, from entries, or from frames. */
export class LogDecoder implements Decoder<unknown> {
  readonly #frames = new FrameReader()
  /** The id of the run, once known. */
  #runId: string | undefined
  /** The ids of other runs in the log. */
  readonly #otherRunIds = new Set<string>()
  #status: EndStatus | undefined
  /** Whether the log has entries of the run. */
  hasBegun = false

  constructor(runId: string | undefined) {
    this.#runId = runId
  }

  get status(): EndStatus | undefined {
    return this.#status
  }

  get runId(): string | undefined {
    return this.#runId
  }

  /** The number of other runs. */
  get otherRunCount(): number {
    return this.#otherRunIds.size
  }

  decode(event: unknown): readonly DecodedChunk[] {
    return this.#entriesOf(event).filter(entry => this.#takeEntry(entry))
  }

  #entriesOf(event: unknown): readonly Entry[] {
    const { millrace, chunk, type }: { [name: string]: unknown } = Object(event)
    if (chunk !== undefined) return [validateEntry(event)]
    if (millrace === 'session') return []
    if (type === undefined) throw new ProtocolError('invalid-field', 'expected an entry, a frame or a recording')
    const frame: Frame = this.#frames.read(validateFrame(event))
    if (frame.type === 'fail')
      throw new ProtocolError('stream-cut', `expected entries, found a fail frame: ${frame.error.message}`)
    if (frame.type === 'truncated')
      throw new ProtocolError(
        'stream-cut',
        'expected entries, found a truncated frame: record the stream again from its start',
      )
    return frame.type === 'entries' ? frame.entries : []
  }

  /** Whether an entry belongs to the run. Updates the run id and the status. */
  #takeEntry({ origin, chunk, internal }: Entry): boolean {
    const { runId } = origin
    if (internal || runId === undefined) return false
    this.#runId ??= runId
    if (runId !== this.#runId) {
      if (this.#otherRunIds.size < MAX_OTHER_RUNS) this.#otherRunIds.add(runId)
      return false
    }
    this.hasBegun = true
    if (chunk.type === 'run-finished') this.#status = chunk.status
    else if (chunk.type === 'run-paused') this.#status = 'paused'
    else if (chunk.type === 'run-resumed') this.#status = undefined
    return true
  }
}

/** The maximum number of other runs that are counted. */
const MAX_OTHER_RUNS = 1_000

/** Writes a run as a separate log: a recording with the start and end of the run. */
export class LogEncoder implements Encoder<unknown> {
  readonly #origin: WriterOrigin
  #sequence = 0
  #timestamp = 0
  #hasEnded = false

  constructor(runId: string, agentType: string) {
    this.#origin = { runId, lane: MAIN_LANE, agentId: runId, agentType, step: 1 }
  }

  encode(decoded: DecodedChunk): readonly unknown[] {
    if (decoded.isHistory) return []
    const { chunk } = decoded
    const before = this.#sequence > 0 ? [] : this.#startEntries(chunk)
    this.#hasEnded = chunk.type === 'run-finished' || chunk.type === 'run-paused'
    return [...before, this.#entry(decoded)]
  }

  resume(): readonly unknown[] {
    return []
  }

  end(status: EndStatus): readonly unknown[] {
    if (this.#hasEnded) return []
    const before = this.#sequence > 0 ? [] : this.#startEntries(undefined)
    const last: Chunk = status === 'paused' ? { type: 'run-paused', awaits: [] } : { type: 'run-finished', status }
    return [...before, this.#entry({ chunk: last })]
  }

  #startEntries(first: Chunk | undefined): readonly unknown[] {
    const [header = ''] = encodeRecording({ sessionId: this.#origin.runId, entries: [] })
    const isStart = first?.type === 'run-started'
    const program = `agent:${this.#origin.agentType}@1`
    return [JSON.parse(header), ...(isStart ? [] : [this.#entry({ chunk: { type: 'run-started', program } })])]
  }

  #entry({ chunk, origin = this.#origin, timestamp = Date.now() }: DecodedChunk): Entry {
    this.#timestamp = Math.max(this.#timestamp, timestamp)
    // A dialect may accept chunks that a log does not.
    return validateEntry({ sequence: ++this.#sequence, timestamp: this.#timestamp, origin, chunk })
  }
}
