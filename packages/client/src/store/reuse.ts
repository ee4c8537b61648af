/** The old value, or its pieces, wherever the new one says the same: who compares by identity sees no change. */
export function reuse<T>(old: unknown, next: T): T {
  if (Object.is(old, next)) return next
  if (typeof old !== 'object' || typeof next !== 'object' || !old || !next) return next
  if (Array.isArray(old) !== Array.isArray(next)) return next
  if (Array.isArray(old) && Array.isArray(next)) {
    if (old.length + next.length === 0) return old as T
    const items = next.map((item, i) => (i < old.length ? reuse(old[i], item) : item))
    return (items.length === old.length && items.every((item, i) => Object.is(item, old[i])) ? old : items) as T
  }
  const before = old as Record<string, unknown>
  const after = next as Record<string, unknown>
  const names = Object.keys(after)
  let isSame = names.length === Object.keys(before).length
  const copy: Record<string, unknown> = {}
  for (const name of names) {
    const value = Object.hasOwn(before, name) ? reuse(before[name], after[name]) : after[name]
    isSame &&= Object.hasOwn(before, name) && Object.is(value, before[name])
    Object.defineProperty(copy, name, { value, enumerable: true, writable: true, configurable: true })
  }
  return (isSame ? old : copy) as T
}
