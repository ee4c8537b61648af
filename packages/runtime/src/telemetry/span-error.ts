import { LogError } from '@millrace/log'
import { MillraceError } from '../error/error.ts'
import { errorCodes } from '../error/error-codes.ts'
import { OTHER_ERROR } from './semantic-conventions.ts'

/** Error type of a span that ended because its parent ended. */
export const INTERRUPTED = 'interrupted'

/** All codes of `LogError`. The type makes the compiler check that none is missing. */
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

/** The `error.type` of a code: the code itself if it is known, because an unknown one may contain any text. */
export const errorTypeOf = (code: string | undefined): string =>
  code !== undefined && KNOWN_CODES.has(code) ? code : OTHER_ERROR

export interface SpanError {
  /** A known error code, or `_OTHER`. */
  readonly type: string
  /** May contain private data: recorded only with `content: true`. */
  readonly message: string | undefined
}

/** Type and message of a failure. Never throws, also for a hostile proxy. */
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
