/** Anything JSON can say. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** A JSON object. */
export type JsonObject = { [key: string]: Json }

/** A JSON array or object. */
export type JsonContainer = Json[] | JsonObject

/** Whether a value is an object and no array. */
export const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a value has children: an array or a plain object, of any realm. A `Date`, say, is no JSON and stays whole. */
export function isContainer(value: unknown): value is JsonContainer {
  if (!isObject(value)) return Array.isArray(value)
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Reads an own key, so that `constructor` and `__proto__` mean what the document says and nothing inherited. */
export const getOwn = <T>(object: { readonly [key: string]: T }, key: string): T | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined

/** Writes an own key as `JSON.parse` would: a plain assignment to `__proto__` would swap the prototype instead. */
export function putOwn(container: JsonContainer, key: string | number, value: Json): void {
  if (key === '__proto__') {
    Object.defineProperty(container, key, { value, enumerable: true, writable: true, configurable: true })
  } else {
    ;(container as JsonObject)[key] = value
  }
}

/** The value of a JSON text, or undefined where it is none. */
export function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
