import { LogError } from '@millrace/log'

/** Says something, and tells whether the log took it: what is too large, or nested too deep, it does not. */
export async function fits(say: () => PromiseLike<void>): Promise<boolean> {
  try {
    await say()
    return true
  } catch (error) {
    if (error instanceof LogError && (error.code === 'too-large' || error.code === 'invalid')) return false
    throw error
  }
}
