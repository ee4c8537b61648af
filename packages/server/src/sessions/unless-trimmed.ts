import { LogError } from '@millrace/log'

/** What `read` finds in a log. Undefined if the entries are trimmed. */
export async function unlessTrimmed<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof LogError && error.code === 'truncated') return undefined
    throw error
  }
}
