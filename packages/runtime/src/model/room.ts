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
