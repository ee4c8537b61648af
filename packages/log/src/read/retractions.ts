// Which entries of a log survive its discards and rewinds. A reader that starts later gets only those. A reader that
// has read retracted entries is notified (guarantee G4 of the Helix page, on every store).

import { type Entry, isDraftChunk, isGuest, type WriterOrigin } from '@millrace/protocol'
import { laneKeyOf } from '@millrace/protocol/internal'
import { type OpenDraft, OpenDrafts } from './open-drafts.ts'

type Range = [first: number, last: number]

/** A discard or rewind, and the entries that it retracts. */
export interface Retraction {
  /** The sequence of the discard or rewind. */
  readonly at: number
  /** The first retracted entry. */
  readonly from: number
  /** The last step that stays complete. */
  readonly step: number
  /** The first retracted entry that the reader gets, if any. */
  readonly firstVisible: number | undefined
}

/** Chunks that no cut retracts on their own: requests of users, and a run's end, which follows the run's start. */
const NEVER_RETRACTED = new Set(['run-requested', 'stop-requested', 'run-finished', 'error'])

/** Requests of users, with the context that the server appends to them. */
const REQUESTS = new Set(['run-requested', 'run-context', 'stop-requested'])
const isRequest = ({ origin, chunk }: Entry): boolean => isGuest(origin) && REQUESTS.has(chunk.type)

/** Adds a sequence after all ranges. */
function extend(ranges: Range[], sequence: number): void {
  const last = ranges.at(-1)
  if (last?.[1] === sequence - 1) last[1] = sequence
  else ranges.push([sequence, sequence])
}

export class Retractions {
  readonly #openDrafts = new OpenDrafts()
  /** The sequences of each draft. */
  readonly #draftRanges = new WeakMap<OpenDraft, Range[]>()
  readonly #cuts = new Map<number, Retraction>()
  /** The sequences that discards retracted. */
  readonly #discarded = new Set<number>()
  readonly #rewound: Range[] = []
  readonly #starts = new Map<string, number>()
  /** Lanes that committed or discarded since `since`: their later drafts are known from the start. */
  readonly #endedLanes = new Set<string>()
  /** The checkpoints of root agents, by which a rewind knows the step that it goes back to. */
  readonly #steps: { readonly at: number; readonly step: number }[] = []
  readonly #isFor: (entry: Entry) => boolean
  readonly #keepsRewound: boolean
  readonly #since: number
  /** The retractable entries that the reader gets. */
  readonly #visible: Range[] = []

  /** `isFor` selects the reader's entries. Entries are added from `since` on. `keepsRewound` ignores rewinds. */
  constructor(
    isFor: (entry: Entry) => boolean,
    { keepsRewound = false, since = 0 }: { readonly keepsRewound?: boolean | undefined; readonly since?: number } = {},
  ) {
    this.#isFor = isFor
    this.#keepsRewound = keepsRewound
    this.#since = since
  }

  /** The sequence of the furthest rewind. The run starts after it have to be known, see `addRunStart`. */
  get lowestRewind(): number {
    return Math.min(...this.#rewound.map(([first]) => first - 1))
  }

  /** Registers the start of a run, also from before `since`. */
  addRunStart({ origin, chunk, sequence }: Entry): void {
    if (chunk.type === 'run-started' && !isGuest(origin)) this.#starts.set(origin.runId, sequence)
  }

  /** Registers an entry. */
  add(entry: Entry): void {
    const { origin, chunk, sequence } = entry
    if (!NEVER_RETRACTED.has(chunk.type) && !isRequest(entry) && this.#isFor(entry)) extend(this.#visible, sequence)
    if (isGuest(origin)) return
    const draft = this.#openDrafts.add(entry)
    if (draft && isDraftChunk(chunk)) {
      const ranges = this.#draftRanges.get(draft) ?? []
      this.#draftRanges.set(draft, ranges)
      extend(ranges, sequence)
      return
    }
    switch (chunk.type) {
      case 'run-started':
        this.addRunStart(entry)
        break
      case 'checkpoint-created':
        this.#endedLanes.add(laneKeyOf(origin))
        if (origin.agentId === origin.runId) this.#steps.push({ at: sequence, step: chunk.stepCount ?? origin.step })
        break
      case 'step-discarded':
        this.#discard(draft, origin, sequence)
        this.#endedLanes.add(laneKeyOf(origin))
        break
      case 'rewind': {
        const { toSequence } = chunk
        if (toSequence >= sequence || this.#keepsRewound) break
        const from = toSequence + 1
        const firstVisible = this.#firstVisible([[from, sequence - 1]])
        this.#cuts.set(sequence, { at: sequence, from, step: this.#stepAt(toSequence), firstVisible })
        this.#rewound.push([from, sequence])
        break
      }
      default:
    }
  }

  /** The last complete step at a sequence; 0 at the start of a turn. */
  #stepAt(sequence: number): number {
    if ([...this.#starts.values()].includes(sequence + 1)) return 0
    return this.#steps.findLast(({ at }) => at <= sequence)?.step ?? 0
  }

  /** The first entry of the ranges that the reader gets and that was not retracted before. */
  #firstVisible(ranges: readonly Range[]): number | undefined {
    for (const [from, to] of ranges) {
      for (const [first, last] of this.#visible) {
        for (let at = Math.max(from, first); at <= Math.min(to, last); at++) {
          if (!this.#discarded.has(at) && !this.#isRewound(at)) return at
        }
      }
    }
    return undefined
  }

  #discard(draft: OpenDraft | undefined, origin: WriterOrigin, at: number): void {
    const ranges = (draft && this.#draftRanges.get(draft)) ?? []
    const firstVisible = this.#firstVisible(ranges)
    for (const [first, last] of ranges)
      for (let sequence = first; sequence <= last; sequence++) this.#discarded.add(sequence)
    const step = Math.max(0, (draft?.origin ?? origin).step - 1)
    // A draft whose start is unknown started at or before `since`. A discard of an empty draft retracts nothing.
    const isStartKnown = this.#since === 0 || this.#starts.has(origin.runId) || this.#endedLanes.has(laneKeyOf(origin))
    this.#cuts.set(at, { at, from: isStartKnown ? (ranges[0]?.[0] ?? at) : this.#since, step, firstVisible })
  }

  /** The retraction that an entry makes, if any. */
  retractionAt(sequence: number): Retraction | undefined {
    return this.#cuts.get(sequence)
  }

  /** Whether an entry was retracted. */
  isRetracted(entry: Entry): boolean {
    const { sequence, origin, chunk } = entry
    if (this.#discarded.has(sequence)) return true
    // Requests stay; answers are retracted with their questions.
    if (isRequest(entry)) return false
    // A run's end and its errors stay for as long as its start does.
    if (chunk.type === 'run-finished' || chunk.type === 'error')
      return this.#isRewound(this.#starts.get(origin.runId ?? '') ?? 0)
    return this.#isRewound(sequence)
  }

  #isRewound(sequence: number): boolean {
    return this.#rewound.some(([first, last]) => first <= sequence && sequence <= last)
  }
}
