/** `T` without the properties that are undefined, for callees with exact optional properties. */
export type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** A copy without the properties that are undefined. */
export function omitUndefined<T extends object>(options: T): Defined<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Defined<T>
}
