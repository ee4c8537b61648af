/**
 * The first part of a value that its JSON text would silently change, such as `NaN`, a `Map` or a function in an object,
 * as a noun phrase. Undefined if there is none, or if the value has no JSON text at all. Objects with a `toJSON` method
 * say themselves what they are in JSON, and an undefined field of an object is the same as a missing one.
 */
export function jsonLoss(value: unknown): string | undefined {
  let found: string | undefined
  function replacer(this: unknown, key: string, item: unknown): unknown {
    if (found !== undefined) return null
    const lost = lossOf(item, Array.isArray(this))
    if (lost !== undefined) found = key === '' ? lost : `${lost} at ${key.slice(0, 60)}`
    return item
  }
  try {
    JSON.stringify(value, replacer)
  } catch {
    // A cycle or a big integer: the value has no JSON text.
  }
  return found
}

function lossOf(value: unknown, isInArray: boolean): string | undefined {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? undefined : String(value)
    case 'function':
    case 'symbol':
      return `a ${typeof value}`
    case 'undefined':
      return isInArray ? 'undefined in an array' : undefined
    case 'object':
      return value === null || Array.isArray(value) || isPlain(value) ? undefined : `a ${nameOf(value)}`
    default:
      return undefined
  }
}

/** Whether an object is plain, also one of another realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** The name of the class of an object. */
function nameOf(value: object): string {
  const { name } = (value as { readonly constructor?: { readonly name?: unknown } }).constructor ?? {}
  return typeof name === 'string' && name !== '' ? name.slice(0, 60) : 'class instance'
}
