import type { ProgramExecution } from '../program-execution.ts'

/** Timers know no times beyond this. */
const LONGEST_MS = 2 ** 31 - 1

/** Resolves when somebody else has moved the ticket from now on, or a time has come by the store's clock; nothing is held for it once the signal is aborted. */
export async function movedOrLate(
  { ticketChanged, timers, clock }: ProgramExecution,
  until: number,
  signal: AbortSignal,
): Promise<void> {
  const { count } = ticketChanged
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const left = Math.min(Math.max(until - clock(), 1), LONGEST_MS)
  const cancel = Number.isFinite(until) ? timers.after(left, resolve, true) : () => {}
  signal.addEventListener('abort', cancel, { once: true })
  await Promise.race([ticketChanged.after(count), late])
  cancel()
  signal.removeEventListener('abort', cancel)
}
