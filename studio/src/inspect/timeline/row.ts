/** Kinds of entries that are drawn as markers. */
export const markerKinds = [
  'commit',
  'prompt',
  'answer',
  'pause',
  'stop',
  'discard',
  'error',
  'takeover',
  'rewind',
] as const
export type MarkerKind = (typeof markerKinds)[number]

/** Kinds of deltas. */
export const deltaKinds = ['text', 'reasoning', 'input'] as const
export type DeltaKind = (typeof deltaKinds)[number]

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

/** Positions on the time axis and log indexes of entries, in order. */
export class Positions {
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
  readonly entries = new Positions()
  readonly steps: Span[] = []
  /** Tool calls and sub-agents. */
  readonly calls: Span[] = []
  /** Waits for an answer. */
  readonly waits: Span[] = []
  /** Discarded drafts. */
  readonly discards: Span[] = []
  readonly deltas: { readonly [W in DeltaKind]: Positions } = {
    text: new Positions(),
    reasoning: new Positions(),
    input: new Positions(),
  }
  readonly markers = new Map<MarkerKind, Positions>()
  /** Whether the last lane of the row has ended. */
  isFree = false

  constructor(depth: number) {
    this.depth = depth
  }

  addMarker(marker: MarkerKind, at: number, index: number): void {
    let positions = this.markers.get(marker)
    if (positions === undefined) {
      positions = new Positions()
      this.markers.set(marker, positions)
    }
    positions.add(at, index)
  }
}

/** Ends an open span. */
export function closeSpan(span: Span | undefined, to: number, state: SpanState): void {
  if (span === undefined || span.to !== undefined) return
  span.to = to
  span.state = state
}
