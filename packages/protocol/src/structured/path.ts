import { mismatch } from '../error/protocol-error.ts'

/** A path has no more segments than this. */
export const MAX_DEPTH = 64

/** A write beyond the end of arrays fills at most this many places in all, each with a `null` like any other: nothing is built below it. */
export const MAX_GAP = 1024

/** The segments of a dotted path or field: refused if there are none or too many, or if there is something `wrong`. */
export function segmentsOf(path: string, what: 'path' | 'field', wrong: RegExp): string[] {
  const segments = typeof path === 'string' ? path.split('.') : []
  const bad = wrong.exec(path)
  if (bad || segments.length === 0 || segments.length > MAX_DEPTH) {
    const found = bad ? `'${bad[0]}'` : segments.length
    throw mismatch(`invalid-${what}`, `${what} '${path}'`, `1 to ${MAX_DEPTH} names joined by dots`, found)
  }
  return segments
}

/** The segments of a dotted path, or an `invalid-path`: none is empty, none is `*`, and there are at most `MAX_DEPTH`. */
export const parsePath = (path: string): string[] => segmentsOf(path, 'path', /(^|\.)\*?(\.|$)/)
