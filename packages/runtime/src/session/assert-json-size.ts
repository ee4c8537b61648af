import { LogError } from '@millrace/log'
import { jsonSizeAtLeast } from '../schema/json-size.ts'

/**
 * Refuses a value that is surely too large for the log, before it is serialized: that would block the process. `label`
 * names it in the message.
 * @throws {LogError} `too-large`
 */
export function assertJsonSize(value: unknown, maxBytes: number, label: string): void {
  if (jsonSizeAtLeast(value, maxBytes) <= maxBytes) return
  throw new LogError(
    'too-large',
    `${label}: expected at most ${maxBytes} bytes, found more: split it, or store it elsewhere`,
  )
}
