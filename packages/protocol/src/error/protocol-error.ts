/** What can be wrong with input to this package; each code is one kind of mistake, the message says where. */
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

/** A refusal of bad input: `code` is for programs, `message` names the place, what was expected and what was found. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
  readonly code: ProtocolErrorCode

  constructor(code: ProtocolErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
