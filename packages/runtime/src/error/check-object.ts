import { ValidationError } from './error.ts'

/** @throws {ValidationError} if `value` is not an object. `label` names the option or argument in the message. */
export function checkObject(label: string, value: unknown): void {
  if (typeof value === 'object' && value !== null) return
  throw new ValidationError(`${label}: expected an object, found ${describeType(value)}`)
}

/**
 * Rejects an object with a key that no code reads, such as a misspelled option. `label` names the object in the message.
 * @throws {ValidationError} that lists the allowed keys.
 */
export function checkKeys(label: string, value: object, allowed: readonly string[]): void {
  const unknown = Object.keys(value).find(key => !allowed.includes(key))
  if (unknown === undefined) return
  throw new ValidationError(`${label}: expected only ${allowed.join(', ')}, found ${JSON.stringify(unknown)}`)
}

/** The type of a value for an error message, such as `an array` or `a string`. Never shows the value, which may be secret. */
export function describeType(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
