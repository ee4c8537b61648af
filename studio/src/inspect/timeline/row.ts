/** Kinds of entries that are drawn as signs. */
export const signs = ['commit', 'prompt', 'answer', 'pause', 'stop', 'discard', 'error', 'takeover', 'rewind'] as const
export type Sign = (typeof signs)[number]

/** Kinds of deltas. */
export const words = ['text', 'reasoning', 'input'] as const
export type Word = (typeof words)[number]

export type SpanState = 'open' | 'done' | 'failed' | 'discarded'

/** A period on the timeline. */
export interface Span {
  readonly from: number
  /** Undefined while it is open. */
  to?: number
  /** End of the model call of a step. */
  middle?: number
  state: SpanState
  readonly label: string
  /** Log index of the entry that started it. */
  readonly index: number
}

/** Positions and log indexes of entries, in order. */
export class Places {
  readonly at: number[] = []
  readonly index: number[] = []

  add(at: number, index: number): void {
    this.at.push(at)
    this.index.push(index)
  }
}

/** A row of the timeline. Holds lanes that follow each other, with the rows of their child lanes below. */
export class Row {
  readonly depth: number
  readonly below: Row[] = []
  /** All entries of the row. */
  readonly entries = new Places()
  readonly steps: Span[] = []
  /** Tool calls and sub-agents. */
  readonly calls: Span[] = []
  /** Waits for an answer. */
  readonly waits: Span[] = []
  /** Discarded drafts. */
  readonly discards: Span[] = []
  readonly words: { readonly [W in Word]: Places } = {
    text: new Places(),
    reasoning: new Places(),
    input: new Places(),
  }
  readonly signs = new Map<Sign, Places>()
  /** Whether the last lane of the row has ended. */
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

/** Ends an open span. */
export function close(span: Span | undefined, to: number, state: SpanState): void {
  if (span === undefined || span.to !== undefined) return
  span.to = to
  span.state = state
}
