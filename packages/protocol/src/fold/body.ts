/** What a chunk says beside its type; fields of later versions are kept. */
export function bodyOf<T extends { type: string }>({ type: _, ...body }: T): Omit<T, 'type'> {
  return body
}

/** The named fields of an object, without those that it lacks. */
export function pick<T extends object, K extends keyof T & string>(from: T, ...keys: K[]): Pick<T, K> {
  return Object.fromEntries(keys.flatMap(key => (from[key] === undefined ? [] : [[key, from[key]]]))) as Pick<T, K>
}
