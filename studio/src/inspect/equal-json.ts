/** An own field: a key such as `constructor` must not find an inherited one. */
const fieldOf = (value: object, key: string): unknown =>
  Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined

/** Whether two values are equal as JSON. Undefined fields count as missing. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  for (const [key, value] of Object.entries(a)) if (!equalJson(value, fieldOf(b, key))) return false
  for (const [key, value] of Object.entries(b)) if (value !== undefined && !Object.hasOwn(a, key)) return false
  return true
}
