import { LogError } from '@millrace/log'

/** The code of a `LogError`; undefined for any other value. Never throws, also for a hostile proxy. */
export function logErrorCode(error: unknown): LogError['code'] | undefined {
  try {
    return error instanceof LogError ? error.code : undefined
  } catch {
    return undefined
  }
}

/** Runs a write and returns whether the log accepted it; false if the entry is too large, nested too deep or not JSON. */
export async function isAccepted(write: () => PromiseLike<void>): Promise<boolean> {
  try {
    await write()
    return true
  } catch (error) {
    const code = logErrorCode(error)
    if (code === 'too-large' || code === 'invalid') return false
    throw error
  }
}
