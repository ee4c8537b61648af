import { type Entry, isGuest } from '@millrace/protocol'
import { type Group, groupOf } from './group.ts'

/** Which entries are wanted: all that fit every one of these. */
export interface Wanted {
  /** Of one of these groups; of any, where there is none. */
  readonly groups: ReadonlySet<Group>
  readonly runId?: string | undefined
  readonly lane?: string | undefined
  /** With this in the JSON of their chunk or in who wrote it, in small letters or large. */
  readonly text: string
}

export const EVERYTHING: Wanted = { groups: new Set(), text: '' }

/** Whether nothing is left out. */
export const isEverything = ({ groups, runId, lane, text }: Wanted): boolean =>
  groups.size === 0 && runId === undefined && lane === undefined && text === ''

/** How many entries are looked at between two looks at the clock. */
const PIECE = 64

/** Looks for entries, piece by piece, so that a long log keeps nobody waiting; goes on with what comes. */
export class Search {
  /** The places in the log of those that fit, in order; grows in place. */
  readonly found: number[] = []
  /** How many entries were looked at. */
  looked = 0
  readonly #wanted: Wanted
  readonly #text: string

  constructor(wanted: Wanted) {
    this.#wanted = wanted
    this.#text = wanted.text.toLowerCase()
  }

  /** Looks on, up to a number of entries or until the time is up; says whether it got there. */
  go(entries: readonly Entry[], count: number, isOver: () => boolean): boolean {
    while (this.looked < count) {
      const end = Math.min(count, this.looked + PIECE)
      for (; this.looked < end; this.looked++) {
        if (this.fits(entries[this.looked] as Entry)) this.found.push(this.looked)
      }
      if (isOver()) break
    }
    return this.looked >= count
  }

  /** Not in the names of the fields that every entry has. */
  #says(value: string | number | undefined): boolean {
    return String(value).toLowerCase().includes(this.#text)
  }

  fits(entry: Entry): boolean {
    const { groups, runId, lane } = this.#wanted
    const { origin, chunk } = entry
    if (groups.size > 0 && !groups.has(groupOf(chunk))) return false
    if (runId !== undefined && runId !== runOf(entry)) return false
    if (lane !== undefined && origin.lane !== lane) return false
    return this.#text === '' || this.#says(JSON.stringify(chunk)) || Object.values(origin).some(one => this.#says(one))
  }
}

/** The run that an entry belongs to, or asks for. */
export function runOf({ origin, chunk }: Entry): string | undefined {
  if (!isGuest(origin)) return origin.runId
  return origin.runId ?? ('runId' in chunk ? chunk.runId : undefined)
}
