/** A copy of plain objects and lists, however deep; whatever else they hold is shared. Who is given one may write into it. */
export function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyOf) as T
  if (!isPlain(value)) return value
  // Fields are defined, not set: one may have the name of what objects inherit.
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyOf(item)])) as T
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
