import { ProtocolError } from '../error.ts'

export { isIndex } from '../json/container.ts'

/** A path has no more segments than this. */
export const MAX_DEPTH = 64

/** A write beyond the end of an array fills at most this many places, with a `null` like any other: nothing is built below it. */
export const MAX_GAP = 1024

// A stream repeats a handful of paths; a flood of distinct or very long ones must not be remembered.
const CACHE_SIZE = 256
const CACHED_LENGTH = 256
const cache = new Map<string, readonly string[]>()

/** The segments of a dotted path, or an `invalid-path`: none is empty, none is `*`, and there are at most `MAX_DEPTH`. */
export function parsePath(path: string): readonly string[] {
  const cached = cache.get(path)
  if (cached) return cached
  const segments = typeof path === 'string' ? path.split('.') : []
  const wrong = segments.includes('')
    ? 'an empty segment'
    : segments.includes('*')
      ? 'a wildcard, which only declared fields may have'
      : !segments.length || segments.length > MAX_DEPTH
        ? `${segments.length} segments`
        : undefined
  if (wrong) {
    const expected = `1 to ${MAX_DEPTH} non-empty segments separated by dots`
    throw new ProtocolError('invalid-path', `path ${JSON.stringify(path)}: expected ${expected}, found ${wrong}`)
  }
  if (path.length <= CACHED_LENGTH) {
    if (cache.size >= CACHE_SIZE) cache.clear()
    cache.set(path, segments)
  }
  return segments
}
