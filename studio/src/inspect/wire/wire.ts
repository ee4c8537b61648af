import type { EndStatus } from '@millrace/dialects'
import type { Entry } from '@millrace/protocol'
import type { WireEncoder } from './wire-encoder.ts'

/** An event and the sequence of its entry. */
export interface WireLine {
  readonly sequence: number
  /** Undefined if the format has no event for the entry, or for a new connection. */
  readonly text?: string
  readonly isConnection?: true
}

const utf8 = new TextEncoder()

/** Number of entries between two checks of the time. */
const STRIDE = 64

/** A run in a wire format. Encodes each entry once, as the log grows. */
export class Wire {
  readonly #runId: string
  readonly #createEncoder: () => WireEncoder
  readonly #lines: WireLine[] = []
  /** The entries so far, replayed to the encoder of a resumed connection. */
  readonly #encoded: Entry[] = []
  #encoder: WireEncoder
  #processed: number
  #isClosed = false
  #events = 0
  #bytes = 0

  /** `from` is the log index of the first entry of the run. */
  constructor(runId: string, createEncoder: () => WireEncoder, from = 0) {
    this.#runId = runId
    this.#createEncoder = createEncoder
    this.#encoder = createEncoder()
    this.#processed = from
  }

  /** The array grows in place. */
  get lines(): readonly WireLine[] {
    return this.#lines
  }

  get events(): number {
    return this.#events
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Number of processed entries of the log. */
  get processed(): number {
    return this.#processed
  }

  /** Encodes new entries up to `count` while there is time. Returns whether all are encoded. */
  take(entries: readonly Entry[], count: number, hasTime: () => boolean = () => true): boolean {
    for (; this.#processed < count; this.#processed++) {
      if (this.#processed % STRIDE === 0 && !hasTime()) return false
      const entry = entries[this.#processed]
      if (entry?.origin.runId === this.#runId) this.#encode(entry)
    }
    return true
  }

  #encode(entry: Entry): void {
    const { sequence } = entry
    if (this.#isClosed) this.#resume(sequence)
    const events = this.#encoder.encode(entry)
    this.#encoded.push(entry)
    if (events.length === 0) this.#lines.push({ sequence })
    this.#write(sequence, events)
    const status = endOf(entry)
    if (status === undefined) return
    this.#write(sequence, this.#encoder.end(status))
    this.#isClosed = true
  }

  /** Resumes on a new connection: replays earlier entries without output, then writes the resume events. */
  #resume(sequence: number): void {
    this.#encoder = this.#createEncoder()
    for (const entry of this.#encoded) this.#encoder.encode(entry)
    this.#isClosed = false
    this.#lines.push({ sequence, isConnection: true })
    this.#write(sequence, this.#encoder.resume())
  }

  #write(sequence: number, texts: readonly string[]): void {
    for (const text of texts) {
      this.#lines.push({ sequence, text })
      this.#events++
      this.#bytes += utf8.encode(text).length
    }
  }
}

/** The end status of a connection after an entry; undefined if it stays open. */
function endOf({ chunk }: Entry): EndStatus | undefined {
  if (chunk.type === 'run-finished') return chunk.status
  return chunk.type === 'run-paused' ? 'paused' : undefined
}

/** Index of the first line of an entry, else of the last line before it; -1 if there is none. */
export function lineOf(lines: readonly WireLine[], sequence: number): number {
  let low = 0
  let high = lines.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((lines[middle]?.sequence ?? 0) < sequence) low = middle + 1
    else high = middle
  }
  return lines[low]?.sequence === sequence ? low : low - 1
}
