/** The kinds of invalid input. */
export type ProtocolErrorCode =
  | 'invalid-chunk'
  | 'invalid-cursor'
  | 'invalid-field'
  | 'invalid-frame'
  | 'invalid-json'
  | 'invalid-patch'
  | 'invalid-path'
  | 'invalid-view'
  | 'line-too-long'
  | 'path-conflict'
  | 'stream-cut'
  | 'stream-done'
  | 'stream-mismatch'
  | 'too-large'

/** Thrown for invalid input. `message` names the location, the expected value and the value that was found. */
export class ProtocolError extends Error {
  /** Name of the class. */
  override readonly name = 'ProtocolError'
  /** Reason of the error. */
  readonly code: ProtocolErrorCode

  constructor(code: ProtocolErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** Shortens a name for an error message: the length of a message must not depend on its input. */
export const shortened = (text: string): string => text.slice(0, 80)

/** The error for a value that is not what was expected. */
export const mismatch = (code: ProtocolErrorCode, where: string, expected: string, found: unknown): ProtocolError =>
  new ProtocolError(code, `${shortened(where)}: expected ${shortened(expected)}, found ${shortened(`${found}`)}`)

/** The beginning of a value, for an error message. Reads no more of the value than it shows. */
export function show(value: unknown): string | undefined {
  let budget = 40
  const shorten = (_: string, item: unknown) =>
    budget-- < 0 ? '…' : typeof item === 'string' || Array.isArray(item) ? item.slice(0, 40) : item
  return JSON.stringify(value, shorten)?.slice(0, 40)
}
