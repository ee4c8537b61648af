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
export const note = (check: string, message: string, next?: string): Finding => finding('note', check, message, next)
export const warn = (check: string, message: string, next: string): Finding => finding('warn', check, message, next)
export const fail = (check: string, message: string, next: string): Finding => finding('fail', check, message, next)

function finding(status: Finding['status'], check: string, message: string, next: string | undefined): Finding {
  return { check, status, message, ...(next !== undefined && { next }) }
}

/** The messages of a thrown value and its causes, without repetitions. */
export const errorMessages = (error: unknown): string => {
  const messages: string[] = []
  for (let e = error; e instanceof Error && messages.length < 5; e = e.cause) messages.push(e.message)
  return messages.length === 0 ? String(error) : [...new Set(messages)].join(': ')
}
