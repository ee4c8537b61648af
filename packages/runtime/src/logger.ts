/** Where causes and stacks go, which no reply carries. */
export interface Logger {
  warn(message: string, fields: Readonly<Record<string, unknown>>): void
  error(message: string, fields: Readonly<Record<string, unknown>>): void
}

/** The console of the process. */
export const consoleLogger: Logger = {
  warn: (message, fields) => console.warn(message, fields),
  error: (message, fields) => console.error(message, fields),
}

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
