import { inspect } from 'node:util'

/** Where causes and stacks go, which no reply carries. */
export interface Logger {
  warn(message: string, fields: Readonly<Record<string, unknown>>): void
  error(message: string, fields: Readonly<Record<string, unknown>>): void
}

/** The console of the process: a warning is one line with the words of its cause, and an error comes with the whole stack. */
export const consoleLogger: Logger = {
  warn(message, { cause, ...rest }) {
    const why = cause === undefined ? '' : `: ${cause instanceof Error ? cause.message : inspect(cause, ONE_LINE)}`
    console.warn(`${message}${why}${shown(rest)}`.replaceAll(/\s*\n\s*/g, ' '))
  },
  error(message, { cause, ...rest }) {
    const why = cause === undefined ? '' : `\n${inspect(cause)}`
    console.error(`${message}${shown(rest)}${why}`)
  },
}

const ONE_LINE = { breakLength: Number.POSITIVE_INFINITY, compact: true } as const

const shown = (fields: Readonly<Record<string, unknown>>): string =>
  Object.keys(fields).length === 0 ? '' : ` ${inspect(fields, ONE_LINE)}`

/** A logger that never throws: what is only told must not end what it tells of. */
export function guarded(logger: Logger): Logger {
  const tell = (level: keyof Logger): Logger['warn'] => {
    return (message, fields) => {
      try {
        logger[level](message, fields)
      } catch {
        // Without the cause, which it may have choked on; if that fails too, nobody can be told.
        const { cause, ...rest } = fields
        try {
          logger[level](message, rest)
        } catch {}
      }
    }
  }
  return { warn: tell('warn'), error: tell('error') }
}
