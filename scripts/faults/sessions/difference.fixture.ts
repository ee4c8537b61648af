import { isDeepStrictEqual } from 'node:util'

/** A value as it comes out of JSON. */
export const asJson = <T>(value: T): T => (value === undefined ? value : JSON.parse(JSON.stringify(value)))

/** The first place at which two values differ, or undefined if they are equal. */
export function differenceOf(found: unknown, expected: unknown, path: string): string | undefined {
  if (isDeepStrictEqual(found, expected)) return undefined
  if (typeof found !== 'object' || typeof expected !== 'object' || found === null || expected === null) {
    return `${path}: ${short(found)}, not ${short(expected)}`
  }
  const [one, other] = [found as Record<string, unknown>, expected as Record<string, unknown>]
  const key = [...new Set([...Object.keys(one), ...Object.keys(other)])].find(
    name => !isDeepStrictEqual(one[name], other[name]),
  )
  return key === undefined ? path : differenceOf(one[key], other[key], `${path}.${key}`)
}

const short = (value: unknown): string => JSON.stringify(value)?.slice(0, 200) ?? 'nothing'
