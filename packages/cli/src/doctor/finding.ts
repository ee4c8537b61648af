/** The result of a check, and how to fix a problem. */
export interface Finding {
  readonly check: string
  /** `note` is information, not a problem. */
  readonly status: 'ok' | 'note' | 'warn' | 'fail'
  readonly message: string
  /** How to fix the problem, if there is one. */
  readonly next?: string
}

export const ok = (check: string, message: string): Finding => ({ check, status: 'ok', message })
export const note = (check: string, message: string, next?: string): Finding => found('note', check, message, next)
export const warn = (check: string, message: string, next: string): Finding => found('warn', check, message, next)
export const fail = (check: string, message: string, next: string): Finding => found('fail', check, message, next)

function found(status: Finding['status'], check: string, message: string, next: string | undefined): Finding {
  return { check, status, message, ...(next !== undefined && { next }) }
}

/** The message of a thrown value. */
export const errorMessages = (error: unknown): string => {
  const words: string[] = []
  for (let e = error; e instanceof Error && words.length < 5; e = e.cause) words.push(e.message)
  return words.length === 0 ? String(error) : [...new Set(words)].join(': ')
}
