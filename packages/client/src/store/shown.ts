/** Stands for what is to be read anew. */
export const STALE = Symbol()

/** What is shown, by its kind and its id, if it has one. */
export class ReadCache {
  readonly #kinds = new Map<string, Map<string | undefined, unknown>>()

  get(kind: string, id?: string): unknown {
    const values = this.#kinds.get(kind)
    const value = values?.get(id)
    return value !== undefined || values?.has(id) ? value : STALE
  }

  set(kind: string, id: string | undefined, value: unknown): void {
    const values = this.#kinds.get(kind)
    if (values) values.set(id, value)
    else this.#kinds.set(kind, new Map([[id, value]]))
  }

  /** It is to be read anew, if anybody has read it. */
  forget(kind: string, id?: string): void {
    const values = this.#kinds.get(kind)
    // It keeps its place: a map that is deleted from and added to again and again is made anew as often.
    if (values?.has(id)) values.set(id, STALE)
  }
}
