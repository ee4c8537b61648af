// Joins consecutive deltas of one part across batches as text. Most of a long session consists of them, and merging
// then parses one delta instead of each.

import { type Chunk, type Entry, isGuest } from '@millrace/protocol'
import { decodeBatch } from '../store/entry.ts'
import type { StoredBatch } from '../store/log-store.ts'

/** The entries of plain batches with consecutive deltas joined, as `coalesce` would do. `coalesce` does the rest. */
export function decodeJoined(batches: readonly StoredBatch[]): Entry[] {
  const entries: Entry[] = []
  let deltas: DeltaRun | undefined
  const join = () => {
    if (deltas?.hasAdded) entries[entries.length - 1] = deltas.joined
  }
  for (const batch of batches) {
    if (deltas?.add(batch)) continue
    join()
    for (const entry of decodeBatch(batch)) entries.push(entry)
    deltas = deltaRunFrom(entries.at(-1) as Entry)
  }
  join()
  return entries
}

/** Joins deltas after this entry, if it is a delta that has only string fields and `delta` last. */
function deltaRunFrom(entry: Entry): DeltaRun | undefined {
  const { chunk, origin, blobs } = entry
  if (isGuest(origin) || blobs || !DELTA_TYPES.has(chunk.type)) return undefined
  let last = ''
  for (const key in chunk) {
    if (typeof chunk[key as keyof Chunk] !== 'string') return undefined
    last = key
  }
  return last === 'delta' ? new DeltaRun(entry) : undefined
}

const DELTA_TYPES = new Set(['text-delta', 'reasoning-delta', 'tool-input-delta'])
const END = '"}}]'

/** Whether escaped text contains an unescaped quote, which means that another field follows. */
const hasUnescapedQuote = (text: string): boolean => text.replaceAll('\\\\', '').replaceAll('\\"', '').includes('"')

class DeltaRun {
  readonly #entry: Entry
  /** The start of a batch of such deltas, and the text between two of them. */
  readonly #start: string
  readonly #between: string
  /** The added texts, JSON-escaped. */
  readonly #added: string[] = []

  constructor(entry: Entry) {
    this.#entry = entry
    const empty = JSON.stringify({ ...entry.chunk, delta: '' })
    const chunk = `"chunk":${empty.slice(0, -'"}'.length)}`
    this.#start = `[{"origin":${JSON.stringify(entry.origin)},${chunk}`
    this.#between = `"}},{${chunk}`
  }

  /** Adds a batch that consists of continuing deltas only. Returns false for any other batch. */
  add({ first, last, body }: StoredBatch): boolean {
    const start = this.#start
    if (!body.startsWith(start) || !body.endsWith(END)) return false
    let added = body.slice(start.length, -END.length)
    if (last > first) {
      const each = added.split(this.#between)
      if (each.length !== last - first + 1) return false
      added = each.join('')
    }
    if (added.includes('"') && hasUnescapedQuote(added)) return false
    this.#added.push(added)
    return true
  }

  get hasAdded(): boolean {
    return this.#added.length > 0
  }

  /** The entry with all added deltas. */
  get joined(): Entry {
    const chunk = this.#entry.chunk as Chunk & { delta: string }
    const added = JSON.parse(`"${this.#added.join('')}"`) as string
    return { ...this.#entry, chunk: { ...chunk, delta: chunk.delta + added } as Chunk }
  }
}
