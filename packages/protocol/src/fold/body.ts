/** What a chunk says beside its type; fields of later versions are kept, but for those that only an entry may say. */
export function bodyOf<T extends { type: string }>(chunk: T): Omit<T, 'type'> {
  const { type, blobs, ...body } = chunk as T & { blobs?: unknown }
  return body as Omit<T, 'type'>
}

/** The named fields of an object, without those that it lacks. */
export function pick<T extends object, K extends keyof T & string>(from: T, ...keys: K[]): Pick<T, K> {
  return Object.fromEntries(keys.flatMap(key => (from[key] === undefined ? [] : [[key, from[key]]]))) as Pick<T, K>
}

/** Two names as one: another for every two of them, whatever they are. */
export const joinNames = (first: string, mark: string, second: string): string =>
  `${first.replace(/[%:]/g, char => (char === '%' ? '%25' : '%3A'))}${mark}${second}`
