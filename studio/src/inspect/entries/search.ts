import { type Entry, isGuest } from '@millrace/protocol'
import { type Group, groupOf } from './group.ts'

/** A filter for entries. An entry has to match all fields. */
export interface EntryFilter {
  /** Groups to match; empty for any. */
  readonly groups: ReadonlySet<Group>
  readonly runId?: string | undefined
  readonly lane?: string | undefined
  /** Text in the JSON of the chunk or in the origin, ignoring case. */
  readonly text: string
}

export const NO_FILTER: EntryFilter = { groups: new Set(), text: '' }

/** Whether the filter matches every entry. */
export const isNoFilter = ({ groups, runId, lane, text }: EntryFilter): boolean =>
  groups.size === 0 && runId === undefined && lane === undefined && text === ''

/** Number of entries between two checks of the time. */
const STRIDE = 64

/** Searches a growing log in time slices. */
export class Search {
  /** Indexes of matching entries, in order. Grows in place. */
  readonly found: number[] = []
  /** Number of searched entries. */
  searched = 0
  readonly #filter: EntryFilter
  readonly #text: string

  constructor(filter: EntryFilter) {
    this.#filter = filter
    this.#text = filter.text.toLowerCase()
  }

  /** Searches the entries up to `count`, until `isTimeOver`. Returns whether all were searched. */
  run(entries: readonly Entry[], count: number, isTimeOver: () => boolean): boolean {
    while (this.searched < count) {
      const end = Math.min(count, this.searched + STRIDE)
      for (; this.searched < end; this.searched++) {
        if (this.matches(entries[this.searched] as Entry)) this.found.push(this.searched)
      }
      if (isTimeOver()) break
    }
    return this.searched >= count
  }

  /** Whether a value contains the text. Field names of the entry itself are not searched. */
  #contains(value: string | number | undefined): boolean {
    return String(value).toLowerCase().includes(this.#text)
  }

  matches(entry: Entry): boolean {
    const { groups, runId, lane } = this.#filter
    const { origin, chunk } = entry
    if (groups.size > 0 && !groups.has(groupOf(chunk))) return false
    if (runId !== undefined && runId !== runOf(entry)) return false
    if (lane !== undefined && origin.lane !== lane) return false
    return (
      this.#text === '' ||
      this.#contains(JSON.stringify(chunk)) ||
      Object.values(origin).some(value => this.#contains(value))
    )
  }
}

/** The run that an entry belongs to or requests. */
export function runOf({ origin, chunk }: Entry): string | undefined {
  if (!isGuest(origin)) return origin.runId
  return origin.runId ?? ('runId' in chunk ? chunk.runId : undefined)
}
