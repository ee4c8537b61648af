// The entries of stored batches as a frame carries them, made from the text that the store has: nobody parses what nobody looks into.

import type { StoredBatch } from '../store/log-store.ts'

/** What lies between two entries of a batch, and nowhere else where there are only so many of it as there are entries but one. */
const BETWEEN = '},{"'

/** Whether every reader is to see all of a batch: nothing in it is internal (law 10), or may be gone for who comes late. */
export const isPlain = ({ body }: StoredBatch): boolean => !body.includes('"internal"') && !body.includes('"transient"')

/**
 * The entries of plain batches as the JSON of one frame, which leaves out an origin that is the one of the entry before it; undefined where
 * that cannot be told from the text.
 */
export function entriesJson(batches: readonly StoredBatch[]): string | undefined {
  const texts: string[] = []
  const origins = new Origins()
  for (const { first, last, timestamp, body } of batches) {
    if (!body.startsWith('[{"') || !body.endsWith('}]')) return undefined
    const entries = body.slice('[{"'.length, -'}]'.length).split(BETWEEN)
    // More, where a text or what is nested has it too, or the log ends inside of this batch.
    if (entries.length !== last - first + 1) return undefined
    for (let i = 0; i < entries.length; i++) {
      const entry = origins.leftOut(entries[i] as string)
      if (entry === undefined) return undefined
      texts.push(`{"sequence":${first + i},"timestamp":${timestamp},"${entry}}`)
    }
  }
  return `[${texts.join(',')}]`
}

const CHUNK = 'chunk":'
const ORIGIN = 'origin":'

/** Who wrote the entries of a frame, by their texts. */
class Origins {
  /** The entry that last said its origin, and then that, once somebody wants to know. */
  #entry: string | undefined
  #said: string | undefined

  /** An entry without its origin where that is the one before; undefined where it is written otherwise. */
  leftOut(entry: string): string | undefined {
    if (entry.startsWith(CHUNK)) return entry
    if (!entry.startsWith(ORIGIN)) return undefined
    if (this.#entry !== undefined) {
      this.#said ??= originOf(this.#entry)
      // What begins with a whole object is that object and nothing longer.
      if (entry.startsWith(this.#said)) {
        const rest = entry.slice(this.#said.length)
        return rest.startsWith(CHUNK) ? rest : undefined
      }
    }
    this.#entry = entry
    this.#said = undefined
    return entry
  }
}

/** An entry's text up to its chunk. */
function originOf(entry: string): string {
  const { origin } = JSON.parse(`{"${entry}}`) as { origin: object }
  return `${ORIGIN}${JSON.stringify(origin)},"`
}
