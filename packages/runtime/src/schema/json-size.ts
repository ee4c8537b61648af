import { MAX_JSON_DEPTH } from '@millrace/protocol/internal'

/**
 * A lower bound for the size of a value as JSON, in bytes. Stops as soon as it exceeds `max`, so that a value is
 * measured before it is serialized. Cyclic values and values that throw have no JSON: returns what was counted until
 * then.
 */
export function jsonSizeAtLeast(value: unknown, max: number): number {
  const counter = new SizeCounter(max)
  try {
    counter.add(value)
  } catch {
    // A getter, a proxy or a `toJSON` throws: serializing the value reports it.
  }
  return counter.size
}

class SizeCounter {
  size = 0
  readonly #max: number
  /** The objects that contain the current one. */
  readonly #parents: object[] = []
  #isCyclic = false

  constructor(max: number) {
    this.#max = max
  }

  get #isDone(): boolean {
    return this.size > this.#max || this.#isCyclic
  }

  add(value: unknown): void {
    switch (typeof value) {
      case 'string':
        this.size += 2 + (value.length > this.#max ? value.length : Buffer.byteLength(value))
        return
      case 'boolean':
        this.size += 4
        return
      case 'object':
        if (value === null) this.size += 4
        else this.#addObject(value)
        return
      default:
        // Numbers have at least one digit. Functions, symbols and undefined are left out, or null in a list.
        this.size += 1
    }
  }

  #addObject(object: object): void {
    const { toJSON } = object as { readonly toJSON?: unknown }
    if (ArrayBuffer.isView(object)) {
      const { length = object.byteLength } = object as { readonly length?: number }
      // A buffer is a list of numbers, any other view an object with indexes as keys.
      this.size += length * (typeof toJSON === 'function' ? 2 : 6)
      return
    }
    if (typeof toJSON === 'function') this.add(toJSON.call(object, ''))
    else if (object instanceof String) this.add(object.valueOf())
    else this.#addContainer(object)
  }

  #addContainer(object: object): void {
    if (this.#parents.length >= MAX_JSON_DEPTH) {
      // Not deeper, because the log refuses it. A cycle is found here at the latest.
      this.#isCyclic ||= this.#parents.includes(object)
      this.size += 2
      return
    }
    this.#parents.push(object)
    if (Array.isArray(object)) this.#addArray(object)
    else this.#addFields(object)
    this.#parents.pop()
  }

  #addArray(array: readonly unknown[]): void {
    // Brackets and commas. Empty places of a sparse list are null.
    this.size += 1 + array.length
    for (let i = 0; i < array.length && !this.#isDone; i++) this.add(array[i])
  }

  #addFields(object: object): void {
    this.size += 2
    for (const key of Object.keys(object)) {
      if (this.#isDone) return
      const value = (object as { readonly [key: string]: unknown })[key]
      if (value === undefined || typeof value === 'function' || typeof value === 'symbol') continue
      this.size += 3 + key.length
      this.add(value)
    }
  }
}
