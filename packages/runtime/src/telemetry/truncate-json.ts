/** Maximum length of each string in an attribute, in characters. */
export const MAX_TEXT_LENGTH = 4096
/** Approximate maximum length of one attribute, in characters of JSON. */
export const MAX_CONTENT_LENGTH = 65_536
const MAX_KEY_LENGTH = 256
const MAX_DEPTH = 32

/** JSON text of bounded length. */
export interface TruncatedJson {
  readonly json: string
  readonly isTruncated: boolean
}

/** Serializes a value to JSON. Truncates long strings and drops what exceeds `maxLength` characters. */
export function truncateJson(value: unknown, maxLength: number = MAX_CONTENT_LENGTH): TruncatedJson {
  const copy = new TruncatedCopy(maxLength)
  const json = JSON.stringify(copy.of(value)) ?? 'null'
  return { json, isTruncated: copy.isTruncated }
}

/** Copies a value up to a length, and reads no more of it. */
class TruncatedCopy {
  isTruncated = false
  /** Characters that may still be copied. */
  #left: number

  constructor(maxLength: number) {
    this.#left = maxLength
  }

  of(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return this.#text(value)
    if (typeof value !== 'object' || value === null) {
      this.#left -= String(value).length
      return typeof value === 'bigint' ? String(value) : value
    }
    // Bytes are of no use in a trace.
    if (depth > MAX_DEPTH || ArrayBuffer.isView(value)) return this.#nothing()
    return Array.isArray(value) ? this.#items(value, depth) : this.#fields(value, depth)
  }

  #text(text: string): string {
    const maxLength = Math.max(0, Math.min(MAX_TEXT_LENGTH, this.#left))
    const truncated = text.length > maxLength ? `${text.slice(0, maxLength).toWellFormed()}…` : text
    this.isTruncated ||= truncated !== text
    // Counts escapes, which may have six characters.
    this.#left -= JSON.stringify(truncated).length
    return truncated
  }

  #items(items: readonly unknown[], depth: number): unknown[] {
    const kept: unknown[] = []
    for (const item of items) {
      if (this.#isFull) break
      this.#left -= 1
      kept.push(this.of(item, depth + 1))
    }
    return kept
  }

  #fields(fields: object, depth: number): Record<string, unknown> {
    // No prototype, so that a field may be named `__proto__`.
    const kept: Record<string, unknown> = Object.create(null)
    for (const name in fields) {
      if (!Object.hasOwn(fields, name)) continue
      if (this.#isFull) break
      const short = name.slice(0, MAX_KEY_LENGTH)
      this.isTruncated ||= short !== name
      this.#left -= short.length + 4
      kept[short] = this.of((fields as Record<string, unknown>)[name], depth + 1)
    }
    return kept
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
