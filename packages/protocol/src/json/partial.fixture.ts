import { isDeepStrictEqual } from 'node:util'
import { isContainer, type Json, type JsonContainer } from './json.ts'

/** All containers in a value, including itself. */
export function* containers(value: Json | undefined): Generator<JsonContainer> {
  if (!isContainer(value)) return
  yield value
  for (const child of Object.values(value)) yield* containers(child)
}

/** Whether `after` only extends `before`. `end` is the final value of both. */
export function grows(before: Json | undefined, after: Json | undefined, end: Json | undefined): boolean {
  if (before === undefined) return true
  if (typeof before === 'string') {
    const splitsPair = /[\ud800-\udbff]$/.test(before) && /^[\udc00-\udfff]/.test(String(end).slice(before.length))
    return typeof after === 'string' && after.startsWith(before) && !splitsPair
  }
  if (!isContainer(before)) return Object.is(before, after)
  if (!isContainer(after) || !isContainer(end) || Array.isArray(before) !== Array.isArray(after)) return false
  return Object.keys(before).every((key, i) => {
    const [was, is, willBe] = [before, after, end].map(one => Object.getOwnPropertyDescriptor(one, key)?.value)
    const isLast = !Array.isArray(before) || i === before.length - 1
    return is !== undefined && (isLast ? grows(was, is, willBe) : isDeepStrictEqual(was, is))
  })
}
