/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** A JSON object. */
export type JsonObject = { [key: string]: Json }

/** A JSON array or object. */
export type JsonContainer = Json[] | JsonObject

/** Whether a value is an object and not an array. */
export const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a value is an array or a plain object, of any realm. A class instance such as a `Date` is not. */
export function isContainer(value: unknown): value is JsonContainer {
  if (!isObject(value)) return Array.isArray(value)
  const prototype = Object.getPrototypeOf(value)
  // The first comparison is the most frequent case, and the fastest.
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Reads an own key. Inherited keys such as `constructor` are ignored. */
export const getOwn = <T>(object: { readonly [key: string]: T }, key: string): T | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined

/** Writes an own key, as `JSON.parse` does. A plain assignment to `__proto__` would replace the prototype. */
export function putOwn(container: JsonContainer, key: string | number, value: Json): void {
  if (key === '__proto__') {
    Object.defineProperty(container, key, { value, enumerable: true, writable: true, configurable: true })
  } else {
    ;(container as JsonObject)[key] = value
  }
}

/** Parses a JSON text. Returns undefined for invalid JSON. */
export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
