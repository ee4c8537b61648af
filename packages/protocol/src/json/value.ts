/** Anything JSON can say. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** A JSON object. */
export type JsonObject = { [key: string]: Json }

/** A JSON array or object. */
export type JsonContainer = Json[] | JsonObject

export const isContainer = (value: Json | undefined): value is JsonContainer =>
  typeof value === 'object' && value !== null

/** Reads an own key, so that `constructor` and `__proto__` mean what the document says and nothing inherited. */
export const getOwn = (object: JsonObject, key: string): Json | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined

/** Writes an own key as `JSON.parse` would: a plain assignment to `__proto__` would swap the prototype instead. */
export function putOwn(container: JsonContainer, key: string | number, value: Json): void {
  if (key === '__proto__') {
    Object.defineProperty(container, key, { value, enumerable: true, writable: true, configurable: true })
  } else {
    ;(container as JsonObject)[key] = value
  }
}
