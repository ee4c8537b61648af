import type { EndStatus } from '@millrace/dialects'
import type { Entry } from '@millrace/protocol'
import type { Speaker } from './speaker.ts'

/** What goes over the wire, and the entry that it says. */
export interface WireLine {
  readonly sequence: number
  /** Nothing, where the dialect has nothing to say of an entry, or where another connection begins. */
  readonly text?: string
  readonly isConnection?: true
}

const utf8 = new TextEncoder()

/** How many entries are said before it is looked at the time. */
const STRIDE = 64

/** A run as it goes over the wire, entry by entry as they come: each is said once. */
export class Wire {
  readonly #runId: string
  readonly #speaker: () => Speaker
  readonly #lines: WireLine[] = []
  /** What the run said so far, for a connection that goes on from there. */
  readonly #heard: Entry[] = []
  #now: Speaker
  #taken: number
  #isClosed = false
  #events = 0
  #bytes = 0

  /** `from` is the place of the run's first entry in its log. */
  constructor(runId: string, speaker: () => Speaker, from = 0) {
    this.#runId = runId
    this.#speaker = speaker
    this.#now = speaker()
    this.#taken = from
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

  /** How many entries of the log were looked at. */
  get taken(): number {
    return this.#taken
  }

  /** Says the entries that are new, up to a count, for as long as there is time; whether all are said. */
  take(entries: readonly Entry[], count: number, hasTime: () => boolean = () => true): boolean {
    for (; this.#taken < count; this.#taken++) {
      if (this.#taken % STRIDE === 0 && !hasTime()) return false
      const entry = entries[this.#taken]
      if (entry?.origin.runId === this.#runId) this.#say(entry)
    }
    return true
  }

  #say(entry: Entry): void {
    const { sequence } = entry
    if (this.#isClosed) this.#again(sequence)
    const said = this.#now.say(entry)
    this.#heard.push(entry)
    if (said.length === 0) this.#lines.push({ sequence })
    this.#write(sequence, said)
    const status = endOf(entry)
    if (status === undefined) return
    this.#write(sequence, this.#now.end(status))
    this.#isClosed = true
  }

  /** Goes on as another connection does: it is shown what was said, says nothing of it, and what it needs again. */
  #again(sequence: number): void {
    this.#now = this.#speaker()
    for (const entry of this.#heard) this.#now.say(entry)
    this.#isClosed = false
    this.#lines.push({ sequence, isConnection: true })
    this.#write(sequence, this.#now.resume())
  }

  #write(sequence: number, texts: readonly string[]): void {
    for (const text of texts) {
      this.#lines.push({ sequence, text })
      this.#events++
      this.#bytes += utf8.encode(text).length
    }
  }
}

/** How a connection to a run ends with an entry, if it does. */
function endOf({ chunk }: Entry): EndStatus | undefined {
  if (chunk.type === 'run-finished') return chunk.status
  return chunk.type === 'run-paused' ? 'paused' : undefined
}

/** The place of the first line of an entry, or of the last before it; -1 where there is none. */
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
