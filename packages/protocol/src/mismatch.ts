import { ProtocolError, type ProtocolErrorCode } from './error.ts'

/** The refusal of what was found where something else was expected. */
export const mismatch = (code: ProtocolErrorCode, where: string, expected: string, found: unknown): ProtocolError =>
  new ProtocolError(code, `${where}: expected ${expected}, found ${found}`)

/** The beginning of a value, for a refusal. */
export const show = (value: unknown): string | undefined => JSON.stringify(value)?.slice(0, 40)
