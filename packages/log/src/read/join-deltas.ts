// Deltas of one part that follow each other from batch to batch, which is most of a long session: they are joined as text, so that who merges
// them parses one and not each.

import { type Chunk, type Entry, isGuest } from '@millrace/protocol'
import { decodeBatch } from '../store/entry.ts'
import type { StoredBatch } from '../store/log-store.ts'

/** The entries of plain batches in which such deltas are one, as `coalesce` makes them; it has the rest to do. */
export function decodeJoined(batches: readonly StoredBatch[]): Entry[] {
  const entries: Entry[] = []
  let deltas: Deltas | undefined
  const join = () => {
    if (deltas?.isMore) entries[entries.length - 1] = deltas.joined
  }
  for (const batch of batches) {
    if (deltas?.add(batch)) continue
    join()
    for (const entry of decodeBatch(batch)) entries.push(entry)
    deltas = deltasAfter(entries.at(-1) as Entry)
  }
  join()
  return entries
}

/** What may follow an entry, if it is a delta that says nothing but to what it adds, and adds it last. */
function deltasAfter(entry: Entry): Deltas | undefined {
  const { chunk, origin, blobs } = entry
  if (isGuest(origin) || blobs || !ADDING.has(chunk.type)) return undefined
  let last = ''
  for (const key in chunk) {
    if (typeof chunk[key as keyof Chunk] !== 'string') return undefined
    last = key
  }
  return last === 'delta' ? new Deltas(entry) : undefined
}

const ADDING = new Set(['text-delta', 'reasoning-delta', 'tool-input-delta'])
const END = '"}}]'

/** Whether a quote in escaped text is none of it, and ends it: then something else follows. */
const hasEnd = (text: string): boolean => text.replaceAll('\\\\', '').replaceAll('\\"', '').includes('"')

class Deltas {
  readonly #entry: Entry
  /** What a batch of such deltas begins with, and what lies between two of them. */
  readonly #start: string
  readonly #between: string
  /** What they add, escaped as it is in JSON. */
  readonly #added: string[] = []

  constructor(entry: Entry) {
    this.#entry = entry
    const empty = JSON.stringify({ ...entry.chunk, delta: '' })
    const chunk = `"chunk":${empty.slice(0, -'"}'.length)}`
    this.#start = `[{"origin":${JSON.stringify(entry.origin)},${chunk}`
    this.#between = `"}},{${chunk}`
  }

  /** Takes a batch of nothing but deltas that go on with it; false where it is another. */
  add({ first, last, body }: StoredBatch): boolean {
    const start = this.#start
    if (!body.startsWith(start) || !body.endsWith(END)) return false
    let added = body.slice(start.length, -END.length)
    if (last > first) {
      const each = added.split(this.#between)
      if (each.length !== last - first + 1) return false
      added = each.join('')
    }
    if (added.includes('"') && hasEnd(added)) return false
    this.#added.push(added)
    return true
  }

  /** Whether anything followed. */
  get isMore(): boolean {
    return this.#added.length > 0
  }

  /** The entry, with all that followed it. */
  get joined(): Entry {
    const chunk = this.#entry.chunk as Chunk & { delta: string }
    const added = JSON.parse(`"${this.#added.join('')}"`) as string
    return { ...this.#entry, chunk: { ...chunk, delta: chunk.delta + added } as Chunk }
  }
}
