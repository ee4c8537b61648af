/** What is left of an object without what is not there, for those who tell the two apart. */
export type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** Without what is not there. */
export function given<T extends object>(options: T): Given<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>
}
