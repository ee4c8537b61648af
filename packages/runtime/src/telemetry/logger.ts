import { inspect } from 'node:util'

/** Receives the causes and stacks of errors. Replies to clients and models never contain them. */
export interface Logger {
  /** Logs a problem that the runtime handles. `fields.cause` is the error, if there is one. */
  warn(message: string, fields: Readonly<Record<string, unknown>>): void
  /** Logs a failure. `fields.cause` is the error, if there is one. */
  error(message: string, fields: Readonly<Record<string, unknown>>): void
}

/** Logs to the console: a warning on one line with the message of its cause, an error with the whole stack. */
export const consoleLogger: Logger = {
  warn(message, { cause, ...rest }) {
    const suffix = cause === undefined ? '' : `: ${cause instanceof Error ? cause.message : inspect(cause, ONE_LINE)}`
    console.warn(oneLine(`${message}${suffix}${formatFields(rest)}`))
  },
  error(message, { cause, ...rest }) {
    const suffix = cause === undefined ? '' : `\n${inspect(cause)}`
    console.error(`${message}${formatFields(rest)}${suffix}`)
  },
}

/** Joins the lines of a text. Without a regular expression, which could take quadratic time for long white space. */
const oneLine = (text: string): string => {
  const lines = text.split('\n')
  return lines.length === 1
    ? text
    : lines
        .map(line => line.trim())
        .filter(line => line !== '')
        .join(' ')
}

const ONE_LINE = { breakLength: Number.POSITIVE_INFINITY, compact: true } as const

const formatFields = (fields: Readonly<Record<string, unknown>>): string =>
  Object.keys(fields).length === 0 ? '' : ` ${inspect(fields, ONE_LINE)}`

/** Wraps a logger so that it never throws: a failing logger must not fail a run. */
export function safeLogger(logger: Logger): Logger {
  const safe = (level: keyof Logger): Logger['warn'] => {
    return (message, fields) => {
      try {
        logger[level](message, fields)
      } catch {
        // The logger may have failed to print the cause, so retry without it.
        const { cause, ...rest } = fields
        try {
          logger[level](message, rest)
        } catch {}
      }
    }
  }
  return { warn: safe('warn'), error: safe('error') }
}
