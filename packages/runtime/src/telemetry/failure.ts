import { LogError } from '@millrace/log'
import { MillraceError } from '../error/error.ts'
import { OTHER_ERROR } from './names.ts'

/** Why something ended that was not at its end: what it belongs to has. */
export const CUT_OFF = 'interrupted'

export interface Failure {
  /** A code, as it is or as the error has it. */
  readonly name: string
  /** Its words: they may hold what nobody should see. */
  readonly words: string | undefined
}

/** What can be told of why something failed; of an error that cannot even be looked at, that there was one. */
export function failureOf(failure: unknown): Failure | undefined {
  if (failure === undefined) return undefined
  if (typeof failure === 'string') return { name: failure, words: undefined }
  try {
    const { code, message } = failure as { readonly code: unknown; readonly message: unknown }
    const isKnown = MillraceError.isInstance(failure) || failure instanceof LogError
    return { name: isKnown ? String(code) : OTHER_ERROR, words: typeof message === 'string' ? message : undefined }
  } catch {
    return { name: OTHER_ERROR, words: undefined }
  }
}
