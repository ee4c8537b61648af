/** The longest text that an attribute quotes, in characters. */
export const MAX_TEXT_LENGTH = 4096
/** About the most that one attribute holds, in characters of JSON. */
export const MAX_CONTENT_LENGTH = 65_536
const MAX_KEY_LENGTH = 256
const MAX_DEPTH = 32

/** JSON of a bounded size, and whether anything was left out for that. */
export interface TruncatedJson {
  readonly json: string
  readonly isTruncated: boolean
}

/** What a value is as JSON: long texts end early, and what there is no room for is left out. */
export function truncateJson(value: unknown, room: number = MAX_CONTENT_LENGTH): TruncatedJson {
  const copy = new TruncatedCopy(room)
  const json = JSON.stringify(copy.of(value)) ?? 'null'
  return { json, isTruncated: copy.isTruncated }
}

/** Copies as much of a value as there is room for, and looks at no more than that. */
class TruncatedCopy {
  isTruncated = false
  #left: number

  constructor(room: number) {
    this.#left = room
  }

  of(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return this.#text(value)
    if (typeof value !== 'object' || value === null) {
      this.#left -= String(value).length
      return typeof value === 'bigint' ? String(value) : value
    }
    // Bytes say nothing to who reads this.
    if (depth > MAX_DEPTH || ArrayBuffer.isView(value)) return this.#nothing()
    return Array.isArray(value) ? this.#items(value, depth) : this.#fields(value, depth)
  }

  #text(text: string): string {
    const longest = Math.max(0, Math.min(MAX_TEXT_LENGTH, this.#left))
    const taken = text.length > longest ? `${text.slice(0, longest).toWellFormed()}…` : text
    this.isTruncated ||= taken !== text
    // As it is written, where one character may be six.
    this.#left -= JSON.stringify(taken).length
    return taken
  }

  #items(items: readonly unknown[], depth: number): unknown[] {
    const taken: unknown[] = []
    for (const item of items) {
      if (this.#isFull) break
      this.#left -= 1
      taken.push(this.of(item, depth + 1))
    }
    return taken
  }

  #fields(fields: object, depth: number): Record<string, unknown> {
    // Whatever a field is called, it is only a name.
    const taken: Record<string, unknown> = Object.create(null)
    for (const name in fields) {
      if (!Object.hasOwn(fields, name)) continue
      if (this.#isFull) break
      const short = name.slice(0, MAX_KEY_LENGTH)
      this.isTruncated ||= short !== name
      this.#left -= short.length + 4
      taken[short] = this.of((fields as Record<string, unknown>)[name], depth + 1)
    }
    return taken
  }

  get #isFull(): boolean {
    if (this.#left > 0) return false
    this.isTruncated = true
    return true
  }

  #nothing(): null {
    this.isTruncated = true
    return null
  }
}
