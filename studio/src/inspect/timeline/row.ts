/** What is worth a sign of its own. */
export const signs = ['commit', 'said', 'answer', 'pause', 'stop', 'discard', 'error', 'takeover', 'rewind'] as const
export type Sign = (typeof signs)[number]

/** Words that come piece by piece. */
export const words = ['text', 'reasoning', 'input'] as const
export type Word = (typeof words)[number]

export type SpanState = 'open' | 'done' | 'failed' | 'discarded'

/** Something that lasts: places are those of the clock. */
export interface Span {
  readonly from: number
  /** Nothing while it lasts. */
  to?: number
  /** Of a step: where its model call ended, and its tools go on. */
  middle?: number
  state: SpanState
  readonly label: string
  /** The place in the log of the entry that began it. */
  readonly index: number
}

/** Entries by where they are drawn, in order. */
export class Places {
  readonly at: number[] = []
  readonly index: number[] = []

  add(at: number, index: number): void {
    this.at.push(at)
    this.index.push(index)
  }
}

/** A line of the drawing: lanes of which each begins when the one before is over; below it those that they opened. */
export class Row {
  readonly depth: number
  readonly below: Row[] = []
  /** All entries that were written there. */
  readonly entries = new Places()
  readonly steps: Span[] = []
  /** Calls, each with the sub-agent that works for it. */
  readonly calls: Span[] = []
  /** What waits for somebody. */
  readonly waits: Span[] = []
  /** Drafts that were taken back. */
  readonly discards: Span[] = []
  readonly words: { readonly [W in Word]: Places } = {
    text: new Places(),
    reasoning: new Places(),
    input: new Places(),
  }
  readonly signs = new Map<Sign, Places>()
  /** Whether the lane that is drawn there is over. */
  isFree = false

  constructor(depth: number) {
    this.depth = depth
  }

  sign(sign: Sign, at: number, index: number): void {
    let places = this.signs.get(sign)
    if (places === undefined) {
      places = new Places()
      this.signs.set(sign, places)
    }
    places.add(at, index)
  }
}

/** Ends what lasts. */
export function close(span: Span | undefined, to: number, state: SpanState): void {
  if (span === undefined || span.to !== undefined) return
  span.to = to
  span.state = state
}
