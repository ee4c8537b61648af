export { type DevHost, type DevOptions, dev } from './dev/dev.ts'
export type { DevEvent } from './dev/supervisor.ts'
export { CommandError, type ExitReason, exitCodes } from './error/command-error.ts'
