/** The old value, or its pieces, wherever the new one says the same: who compares by identity sees no change. */
export function shareStructure<T>(old: unknown, next: T): T {
  if (Object.is(old, next)) return next
  if (typeof old !== 'object' || typeof next !== 'object' || !old || !next) return next
  if (Array.isArray(old) !== Array.isArray(next)) return next
  if (Array.isArray(old) && Array.isArray(next)) {
    const items = next.map((item, i) => shareStructure(old[i], item))
    return (items.length === old.length && items.every((item, i) => Object.is(item, old[i])) ? old : items) as T
  }
  const before = old as Record<string, unknown>
  const has = (name: string) => Object.hasOwn(before, name)
  const fields = Object.entries(next).map(([name, value]) => [
    name,
    has(name) ? shareStructure(before[name], value) : value,
  ])
  const isSame = ([name, value]: unknown[]) => has(name as string) && Object.is(value, before[name as string])
  const isAll = fields.length === Object.keys(before).length && fields.every(isSame)
  return (isAll ? old : Object.fromEntries(fields)) as T
}
