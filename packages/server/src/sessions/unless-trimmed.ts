import { LogError } from '@millrace/log'

/** The result of `read`; undefined if the log is trimmed there. */
export async function unlessTrimmed<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof LogError && error.code === 'truncated') return undefined
    throw error
  }
}
