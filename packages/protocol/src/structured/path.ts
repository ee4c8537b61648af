import { mismatch } from '../error/protocol-error.ts'

/** The maximum number of segments in a path. */
export const MAX_PATH_SEGMENTS = 64

/** The maximum number of `null` items that one write beyond the end of arrays may add. */
export const MAX_GAP = 1024

/** Splits a dotted path or field. Rejects it if it has no segments or too many, or if it matches `invalid`. */
export function segmentsOf(path: string, kind: 'path' | 'field', invalid: RegExp): string[] {
  const segments = typeof path === 'string' ? path.split('.') : []
  const bad = invalid.exec(path)
  if (bad || segments.length === 0 || segments.length > MAX_PATH_SEGMENTS) {
    const found = bad ? `'${bad[0]}'` : segments.length
    throw mismatch(`invalid-${kind}`, `${kind} '${path}'`, `1 to ${MAX_PATH_SEGMENTS} names joined by dots`, found)
  }
  return segments
}

/**
 * Splits a dotted path into its segments. No segment is empty or `*`, and there are at most `MAX_PATH_SEGMENTS`.
 * @throws ProtocolError `invalid-path`
 */
export const parsePath = (path: string): string[] => segmentsOf(path, 'path', /(^|\.)\*?(\.|$)/)
