// How much the log takes of what a model says.

import { LogError } from '@millrace/log'

/** Why the log did not take something; nothing for any other error, whatever was thrown. */
export function refusalOf(error: unknown): LogError['code'] | undefined {
  try {
    return error instanceof LogError ? error.code : undefined
  } catch {
    return undefined
  }
}

/** Says something, and tells whether the log took it: what is too large, nested too deep or no JSON it does not. */
export async function fits(say: () => PromiseLike<void>): Promise<boolean> {
  try {
    await say()
    return true
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal === 'too-large' || refusal === 'invalid') return false
    throw error
  }
}

/** How many characters a value takes as JSON; infinitely many where it is none. */
export function lengthOf(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** As much is kept of what is too long to be kept whole. */
const EXCERPT = 1000

/** The beginning of a text that may be too long to be kept. */
export function excerpt(text: string, length = EXCERPT): string {
  if (text.length <= length) return text
  // Half a character at the end is none.
  return `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
