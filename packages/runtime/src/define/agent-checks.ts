// Validates agent definitions when they are created, and computed options when they are used.

import type { JsonObject } from '@millrace/protocol'
import { describeType } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import { checkSchema, type JsonSchema, jsonSchemaOf, type Schema, validateSync } from '../schema/schema.ts'
import type { Callable } from './tool.ts'

const NAME = /^[A-Za-z0-9_.-]{1,64}$/

/** @throws {ValidationError} if `value`, the `field` of the program called `name`, is not a valid name or version. */
export function checkName(kind: 'agent' | 'workflow', name: unknown, field: string, value: unknown): void {
  if (typeof value === 'string' && NAME.test(value)) return
  throw new ValidationError(
    `${kind} ${typeof name === 'string' ? name : quoteOrType(name)}: ${field}: expected 1 to 64 letters, digits, _, . and -, found ${quoteOrType(value)}`,
  )
}

/** The found value for an error message: quoted text, or its type. */
const quoteOrType = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value) : describeType(value)

/** Returns the list of tools. @throws {ValidationError} if it is not an array. */
export function checkToolList<T extends Callable>(name: string, tools: readonly T[]): readonly T[] {
  if (Array.isArray(tools)) return tools
  throw new ValidationError(`agent ${name}: tools: expected an array, found ${typeof tools}`)
}

const EXECUTORS = new Set<unknown>(['server', 'client', 'provider', 'agent'])

/** @throws {ValidationError} if an item is not a tool, or two tools have the same name. */
export function checkTools(name: string, tools: readonly Callable[]): void {
  const names = new Set<string>()
  for (const [index, tool] of tools.entries()) {
    if (!EXECUTORS.has(tool?.executor)) {
      throw new ValidationError(
        `agent ${name}: tools.${index}: expected the result of tool() or providerTool(), found ${describeType(tool)}`,
      )
    }
    if (names.has(tool.name))
      throw new ValidationError(
        `agent ${name}: tools: expected different names, found ${tool.name} twice: rename one tool`,
      )
    names.add(tool.name)
  }
}

/** @throws {ValidationError} if a value is set but not a function. */
export function checkFunctions(name: string, functions: Readonly<Record<string, unknown>>): void {
  for (const [field, value] of Object.entries(functions)) {
    if (value === undefined || typeof value === 'function') continue
    throw new ValidationError(`agent ${name}: ${field}: expected a function, found ${typeof value}`)
  }
}

/** @throws {ValidationError} if a value is not an integer of at least `min`. */
export function checkCount(name: string, field: string, value: number, min: number): void {
  if (Number.isSafeInteger(value) && value >= min) return
  throw new ValidationError(`agent ${name}: ${field}: expected a whole number of at least ${min}, found ${value}`)
}

/**
 * @throws {ValidationError} if the initial state does not match its schema. Asynchronous schemas are not checked here.
 */
export function checkState(name: string, stateSchema: Schema | undefined, initialState: JsonObject | undefined): void {
  if (stateSchema === undefined) return
  checkSchema(stateSchema, `agent ${name}: stateSchema`)
  const checked = initialState && validateSync(stateSchema, initialState)
  if (!checked || !('problem' in checked)) return
  throw new ValidationError(
    `agent ${name}: initialState: expected a state that stateSchema accepts, found a problem: ${checked.problem}`,
  )
}

/**
 * The JSON Schema of an agent's output: converted from `schema`, or `override`.
 * @throws {ValidationError} if the output is a primitive: only objects and arrays can be found in surrounding text.
 */
export function outputJsonSchemaOf(name: string, schema: Schema, override: JsonSchema | undefined): JsonSchema {
  const jsonSchema = jsonSchemaOf(schema, `agent ${name}: outputSchema`, override)
  const { type } = jsonSchema
  if (type === undefined || type === 'object' || type === 'array') return jsonSchema
  throw new ValidationError(
    `agent ${name}: outputSchema: expected a schema of an object or an array, found one of ${JSON.stringify(type)}: wrap it in an object`,
  )
}
