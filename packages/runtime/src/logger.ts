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
