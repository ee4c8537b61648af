import { ProtocolError, type ProtocolErrorCode } from './protocol-error.ts'

/** The beginning of a name: whoever chose it must not choose how long a refusal is. */
export const cut = (text: string): string => text.slice(0, 80)

/** The refusal of what was found where something else was expected. */
export const mismatch = (code: ProtocolErrorCode, where: string, expected: string, found: unknown): ProtocolError =>
  new ProtocolError(code, `${cut(where)}: expected ${cut(expected)}, found ${cut(`${found}`)}`)

/** The beginning of a value, for a refusal. Looks into no more of it than may show, so that size and depth do not matter. */
export function show(value: unknown): string | undefined {
  let room = 40
  const brief = (_: string, one: unknown) =>
    room-- < 0 ? '…' : typeof one === 'string' || Array.isArray(one) ? one.slice(0, 40) : one
  return JSON.stringify(value, brief)?.slice(0, 40)
}
