import { ValidationError } from './error.ts'

/** @throws {ValidationError} if `value` is not an object. `what` names the option or argument in the message. */
export function checkObject(what: string, value: unknown): void {
  if (typeof value === 'object' && value !== null) return
  throw new ValidationError(`${what}: expected an object, found ${describeType(value)}`)
}

/** The type of a value for an error message, such as `an array` or `a string`. Never shows the value, which may be secret. */
export function describeType(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
