import type { ApiOptions } from '@millrace/client'

type Given = NonNullable<ApiOptions['headers']>

/** Headers that are given anew with each render, and of which the last are meant. */
interface LatestHeaders {
  current: Given
  readonly get: () => HeadersInit | Promise<HeadersInit>
}

const known = new WeakMap<Given, LatestHeaders>()

/** One for all who are given the same headers: so that they ask in the same way, and share a connection. */
export function latestHeaders(given: Given): LatestHeaders {
  const shared = known.get(given)
  if (shared) return shared
  const latest: LatestHeaders = {
    current: given,
    get: () => (typeof latest.current === 'function' ? latest.current() : latest.current),
  }
  known.set(given, latest)
  return latest
}

/** Puts others in their place. */
export function replaceHeaders(latest: LatestHeaders, given: Given): void {
  latest.current = given
  known.set(given, latest)
}
