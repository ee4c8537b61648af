import { LogError } from '@millrace/log'
import { MillraceError } from '../error/error.ts'
import { errorCodes } from '../error/error-codes.ts'
import { OTHER_ERROR } from './semantic-conventions.ts'

/** Why something ended that was not at its end: what it belongs to has. */
export const INTERRUPTED = 'interrupted'

/** All that can be wrong with a log, by name. */
const LOG_CODES: Readonly<Record<LogError['code'], true>> = {
  unavailable: true,
  fenced: true,
  regressed: true,
  moved: true,
  busy: true,
  absent: true,
  exists: true,
  closed: true,
  refused: true,
  'too-large': true,
  'queue-full': true,
  truncated: true,
  invalid: true,
}

const KNOWN_CODES: ReadonlySet<string> = new Set([...Object.values(errorCodes), ...Object.keys(LOG_CODES)])

/** What an error is told as: by its code, where that is one of ours. Code that is not checked may write into one whatever it likes. */
export const errorTypeOf = (code: string | undefined): string =>
  code !== undefined && KNOWN_CODES.has(code) ? code : OTHER_ERROR

export interface SpanError {
  /** One of our codes, or that it has none of them. */
  readonly type: string
  /** Its words: they may hold what nobody should see. */
  readonly message: string | undefined
}

/** What can be told of why something failed; of an error that cannot even be looked at, that there was one. */
export function spanErrorOf(failure: unknown): SpanError | undefined {
  if (failure === undefined) return undefined
  if (typeof failure === 'string') return { type: errorTypeOf(failure), message: undefined }
  try {
    const { code, message } = failure as { readonly code: unknown; readonly message: unknown }
    const isKnown = MillraceError.isInstance(failure) || failure instanceof LogError
    return {
      type: isKnown ? errorTypeOf(String(code)) : OTHER_ERROR,
      message: typeof message === 'string' ? message : undefined,
    }
  } catch {
    return { type: OTHER_ERROR, message: undefined }
  }
}
