import type { SharedV4Warning } from '@ai-sdk/provider'
import { excerpt } from '../error/excerpt.ts'
import { jsonLength } from '../schema/json.ts'

/** As many warnings of an answer are kept. */
const MOST = 32
/** A longer one is kept as an excerpt of what it says. */
const LONG = 2000

/** What people should know of an answer; it ends up in a commit, which must not be too large for the log. */
export class Warnings {
  readonly list: SharedV4Warning[] = []
  readonly #known = new Set<string>()

  /** Adds one that is not there yet. */
  add(warning: SharedV4Warning): void {
    const kept = keptOf(warning)
    const text = JSON.stringify(kept)
    if (this.#known.has(text) || this.list.length > MOST) return
    this.#known.add(text)
    const isLast = this.list.length === MOST
    this.list.push(isLast ? { type: 'other', message: 'there were more warnings' } : kept)
  }
}

function keptOf(warning: SharedV4Warning): SharedV4Warning {
  const length = jsonLength(warning)
  if (length <= LONG) return warning
  if (length === Number.POSITIVE_INFINITY) return { type: 'other', message: 'a warning that is no JSON' }
  return { type: 'other', message: excerpt(warning.type === 'other' ? warning.message : JSON.stringify(warning)) }
}
