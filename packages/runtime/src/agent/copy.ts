/** A copy of plain objects and lists, however deep; whatever else they hold is shared. Who is given one may write into it. */
export function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyOf) as T
  if (!isPlain(value)) return value
  // Fields are defined by the spread, and then only set: one may have the name of what objects inherit. A whole conversation is copied so.
  const copy: Record<string, unknown> = { ...value }
  for (const key of Object.keys(copy)) {
    const item = copy[key]
    if (typeof item === 'object' && item !== null) copy[key] = copyOf(item)
  }
  return copy as T
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
