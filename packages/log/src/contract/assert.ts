import { AssertionError } from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import type { AppendResult } from '../store/log-store.ts'

const MAX_SHOWN_CHARACTERS = 400

/** An assertion error with this message. */
export const assertionError = (message: string): AssertionError => new AssertionError({ message })

/** Fails unless the values are deeply equal. */
export function assertEqual(actual: unknown, expected: unknown, label: string): void {
  if (isDeepStrictEqual(actual, expected)) return
  const message = `${label}: expected ${show(expected)}, found ${show(actual)}`
  throw new AssertionError({ message, actual, expected, operator: 'deepStrictEqual' })
}

/** Fails unless the condition is true. */
export function assertTrue(condition: boolean, label: string, actual?: unknown): void {
  if (!condition) throw assertionError(actual === undefined ? label : `${label}: found ${show(actual)}`)
}

/** Returns the value. Fails if it is missing. */
export function assertPresent<T>(value: T | undefined | null, label: string): T {
  if (value === undefined || value === null) throw assertionError(`${label}: found ${value}`)
  return value
}

/** Fails unless the call rejects with this code. */
export async function assertRejects(call: Promise<unknown>, code: string, label: string): Promise<void> {
  const outcome = await call.then(
    value => `the result ${show(value)}`,
    error => (codeOf(error) === code ? undefined : `${error}`),
  )
  if (outcome !== undefined)
    throw assertionError(`${label}: expected a rejection with the code '${code}', found ${outcome}`)
}

/** The code of an error. */
export const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

/** A result in one line: `appended 1..3`, `fenced`. */
export const describeAppend = (result: AppendResult): string =>
  'first' in result ? `${result.outcome} ${formatRange(result)}` : result.outcome

/** Sequences in one line: `1..3`. */
export const formatRange = (found: { first: number; last: number } | undefined): string =>
  found === undefined ? 'none' : `${found.first}..${found.last}`

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > MAX_SHOWN_CHARACTERS
    ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}... (${text.length} characters)`
    : text
}
