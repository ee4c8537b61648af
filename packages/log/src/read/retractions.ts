// What of a log survives its discards and rewinds. A reader that comes late is shown just that; one that had read what was taken back is
// told (the guarantee G4 of the Helix pages, here on every store alike).

import { type Entry, isGuest, isWord, type WriterOrigin } from '@millrace/protocol'
import { laneKeyOf } from '@millrace/protocol/internal'
import { type OpenDraft, OpenDrafts } from './open-drafts.ts'

type Range = [first: number, last: number]

/** A discard or rewind, and what it took back. */
export interface Retraction {
  /** Where the discard or rewind stands. */
  readonly at: number
  /** The first entry that it took back. */
  readonly from: number
  /** The last step that it left whole. */
  readonly step: number
  /** The first of what it took back that is for whoever asks; none where nothing was. */
  readonly seen: number | undefined
}

/** What no cut takes from anybody by itself: what people asked for, and how a run ended, which goes with the run's start. */
const STAYS = new Set(['run-requested', 'stop-requested', 'run-finished', 'error'])

/** What people asked for, with what the server keeps beside it. */
const ASKED = new Set(['run-requested', 'run-context', 'stop-requested'])
const isAsked = ({ origin, chunk }: Entry): boolean => isGuest(origin) && ASKED.has(chunk.type)

/** Adds a sequence to ranges that lie before it. */
function extend(ranges: Range[], sequence: number): void {
  const last = ranges.at(-1)
  if (last?.[1] === sequence - 1) last[1] = sequence
  else ranges.push([sequence, sequence])
}

export class Retractions {
  readonly #unsealed = new OpenDrafts()
  /** The words of each draft. */
  readonly #drafts = new WeakMap<OpenDraft, Range[]>()
  readonly #cuts = new Map<number, Retraction>()
  /** What discards took back, one entry after the other. */
  readonly #words = new Set<number>()
  readonly #rewound: Range[] = []
  readonly #starts = new Map<string, number>()
  /** The lanes that committed or discarded since the place: of their drafts it is told from the first word on. */
  readonly #sealed = new Set<string>()
  /** The root agents' checkpoints, so that a rewind can say which step it goes back to. */
  readonly #steps: { readonly at: number; readonly step: number }[] = []
  readonly #isFor: (entry: Entry) => boolean
  readonly #keepsRewound: boolean
  readonly #since: number
  /** What is for whoever asks, and can be taken back. */
  readonly #seen: Range[] = []

  /** For somebody, whom not all entries are for; who is told of what lies after a place, and may want to see rewinds as they came, with what they took back. */
  constructor(
    isFor: (entry: Entry) => boolean,
    { keepsRewound = false, since = 0 }: { readonly keepsRewound?: boolean | undefined; readonly since?: number } = {},
  ) {
    this.#isFor = isFor
    this.#keepsRewound = keepsRewound
    this.#since = since
  }

  /** The place that the furthest rewind goes back to: whether it took a run whole is known once it is told which ones began after that. */
  get low(): number {
    return Math.min(...this.#rewound.map(([first]) => first - 1))
  }

  /** Takes the start of a run into account, also from before the place. */
  began({ origin, chunk, sequence }: Entry): void {
    if (chunk.type === 'run-started' && !isGuest(origin)) this.#starts.set(origin.runId, sequence)
  }

  /** Takes an entry into account. */
  add(entry: Entry): void {
    const { origin, chunk, sequence } = entry
    if (!STAYS.has(chunk.type) && !isAsked(entry) && this.#isFor(entry)) extend(this.#seen, sequence)
    if (isGuest(origin)) return
    const draft = this.#unsealed.add(entry)
    if (draft && isWord(chunk)) {
      const words = this.#drafts.get(draft) ?? []
      this.#drafts.set(draft, words)
      extend(words, sequence)
      return
    }
    switch (chunk.type) {
      case 'run-started':
        this.began(entry)
        break
      case 'checkpoint-created':
        this.#sealed.add(laneKeyOf(origin))
        if (origin.agentId === origin.runId) this.#steps.push({ at: sequence, step: chunk.stepCount ?? origin.step })
        break
      case 'step-discarded':
        this.#discard(draft, origin, sequence)
        this.#sealed.add(laneKeyOf(origin))
        break
      case 'rewind': {
        const { toSequence } = chunk
        if (toSequence >= sequence || this.#keepsRewound) break
        const from = toSequence + 1
        const seen = this.#firstSeen([[from, sequence - 1]])
        this.#cuts.set(sequence, { at: sequence, from, step: this.#stepAt(toSequence), seen })
        this.#rewound.push([from, sequence])
        break
      }
      default:
    }
  }

  /** The last step that is whole at a place; none, where that is the start of a turn. */
  #stepAt(place: number): number {
    if ([...this.#starts.values()].includes(place + 1)) return 0
    return this.#steps.findLast(({ at }) => at <= place)?.step ?? 0
  }

  /** The first entry of some ranges that is for whoever asks and was there until now. */
  #firstSeen(ranges: readonly Range[]): number | undefined {
    for (const [from, to] of ranges) {
      for (const [first, last] of this.#seen) {
        for (let at = Math.max(from, first); at <= Math.min(to, last); at++) {
          if (!this.#words.has(at) && !this.#isRewound(at)) return at
        }
      }
    }
    return undefined
  }

  #discard(draft: OpenDraft | undefined, origin: WriterOrigin, at: number): void {
    const words = (draft && this.#drafts.get(draft)) ?? []
    const seen = this.#firstSeen(words)
    for (const [first, last] of words)
      for (let sequence = first; sequence <= last; sequence++) this.#words.add(sequence)
    const step = Math.max(0, (draft?.origin ?? origin).step - 1)
    // A draft whose beginning was not told began at or before the place; a discard of nothing takes nothing from anybody.
    const isWhole = this.#since === 0 || this.#starts.has(origin.runId) || this.#sealed.has(laneKeyOf(origin))
    this.#cuts.set(at, { at, from: isWhole ? (words[0]?.[0] ?? at) : this.#since, step, seen })
  }

  /** The cut that an entry makes, if it makes one. */
  retractionAt(sequence: number): Retraction | undefined {
    return this.#cuts.get(sequence)
  }

  /** Whether what an entry said was taken back. */
  isRetracted(entry: Entry): boolean {
    const { sequence, origin, chunk } = entry
    if (this.#words.has(sequence)) return true
    // What people asked for stays; their answers go with what they answered.
    if (isAsked(entry)) return false
    // How a run ended, and what went wrong, shows in what is left of it.
    if (chunk.type === 'run-finished' || chunk.type === 'error')
      return this.#isRewound(this.#starts.get(origin.runId ?? '') ?? 0)
    return this.#isRewound(sequence)
  }

  #isRewound(sequence: number): boolean {
    return this.#rewound.some(([first, last]) => first <= sequence && sequence <= last)
  }
}
