// Builds the JSON of a frame's entries from the stored text, without parsing it.

import type { StoredBatch } from '../store/log-store.ts'

/** Separates two entries of a batch. A body that contains it exactly `count - 1` times contains it nowhere else. */
const SEPARATOR = '},{"'

/** Whether every reader gets all entries of a batch: none is internal (law 10), and none is transient. */
export const isPlain = ({ body }: StoredBatch): boolean => !body.includes('"internal"') && !body.includes('"transient"')

/**
 * The entries of plain batches as the JSON of one frame, which omits an origin equal to that of the entry before.
 * Undefined if the text cannot be split safely.
 */
export function entriesJson(batches: readonly StoredBatch[]): string | undefined {
  const texts: string[] = []
  const origins = new OriginDeduplicator()
  for (const { first, last, timestamp, body } of batches) {
    if (!body.startsWith('[{"') || !body.endsWith('}]')) return undefined
    const entries = body.slice('[{"'.length, -'}]'.length).split(SEPARATOR)
    // There are more parts if a string or a nested value contains the separator, or if the log ends inside this
    // batch.
    if (entries.length !== last - first + 1) return undefined
    for (let i = 0; i < entries.length; i++) {
      const entry = origins.withoutRepeatedOrigin(entries[i] as string)
      if (entry === undefined) return undefined
      texts.push(`{"sequence":${first + i},"timestamp":${timestamp},"${entry}}`)
    }
  }
  return `[${texts.join(',')}]`
}

const CHUNK = 'chunk":'
const ORIGIN = 'origin":'

/** Removes repeated origins from the texts of a frame's entries. */
class OriginDeduplicator {
  /** The last entry with an origin, and its origin's text, computed on first use. */
  #entry: string | undefined
  #origin: string | undefined

  /** The entry without an origin equal to the one before. Undefined if the text has another form. */
  withoutRepeatedOrigin(entry: string): string | undefined {
    if (entry.startsWith(CHUNK)) return entry
    if (!entry.startsWith(ORIGIN)) return undefined
    if (this.#entry !== undefined) {
      this.#origin ??= originOf(this.#entry)
      // A prefix that is a complete object ends where the object ends.
      if (entry.startsWith(this.#origin)) {
        const rest = entry.slice(this.#origin.length)
        return rest.startsWith(CHUNK) ? rest : undefined
      }
    }
    this.#entry = entry
    this.#origin = undefined
    return entry
  }
}

/** An entry's text up to its chunk. */
function originOf(entry: string): string {
  const { origin } = JSON.parse(`{"${entry}}`) as { origin: object }
  return `${ORIGIN}${JSON.stringify(origin)},"`
}
