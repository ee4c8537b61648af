/**
 * Copies plain objects and arrays at every depth. Other values, such as dates, URLs and byte arrays, are shared with the
 * original. Application code gets such a copy, so that it may change it.
 */
export function deepCopy<T>(value: T): T {
  if (Array.isArray(value)) return value.map(deepCopy) as T
  if (!isPlainObject(value)) return value
  // The spread defines every field as an own one, also `__proto__`; later assignments only replace them.
  const copy: Record<string, unknown> = { ...value }
  for (const key of Object.keys(copy)) {
    const item = copy[key]
    if (typeof item === 'object' && item !== null) copy[key] = deepCopy(item)
  }
  return copy as T
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
