// What an agent must be so that it can run: told where it is defined or, of what is computed, where it is used.

import type { JsonObject } from '@millrace/protocol'
import { describeType } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import { checkSchema, type JsonSchema, type Schema, validateSync } from '../schema/schema.ts'
import type { Callable } from './tool.ts'

const NAME = /^[A-Za-z0-9_.-]{1,64}$/

/** Throws where a name, or a part of one, is none. */
export function checkName(kind: 'agent' | 'workflow', name: unknown, what: string, value: unknown): void {
  if (typeof value === 'string' && NAME.test(value)) return
  throw new ValidationError(
    `${kind} ${typeof name === 'string' ? name : nameOf(name)}: ${what}: expected 1 to 64 letters, digits, _, . and -, found ${nameOf(value)}`,
  )
}

/** What stands where a name should: as it is written, or what it is. */
const nameOf = (value: unknown): string => (typeof value === 'string' ? JSON.stringify(value) : describeType(value))

/** A list of tools; throws where it is none. */
export function listOf<T extends Callable>(name: string, tools: readonly T[]): readonly T[] {
  if (Array.isArray(tools)) return tools
  throw new ValidationError(`agent ${name}: tools: expected an array, found ${typeof tools}`)
}

const EXECUTORS = new Set<unknown>(['server', 'client', 'provider', 'agent'])

/** Throws where something is no tool, or two have one name. */
export function checkTools(name: string, tools: readonly Callable[]): void {
  const names = new Set<string>()
  for (const [index, tool] of tools.entries()) {
    if (!EXECUTORS.has(tool?.executor)) {
      throw new ValidationError(`agent ${name}: tools.${index}: expected what tool() or providerTool() gives`)
    }
    if (names.has(tool.name)) throw new ValidationError(`agent ${name}: tools: there are two by the name ${tool.name}`)
    names.add(tool.name)
  }
}

/** Throws where something is given that is no function. */
export function checkFunctions(name: string, functions: Readonly<Record<string, unknown>>): void {
  for (const [what, value] of Object.entries(functions)) {
    if (value === undefined || typeof value === 'function') continue
    throw new ValidationError(`agent ${name}: ${what}: expected a function, found ${typeof value}`)
  }
}

/** Throws where a number does not count. */
export function checkCount(name: string, what: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return
  throw new ValidationError(`agent ${name}: ${what}: expected a whole number from ${least} on, found ${value}`)
}

/** Throws where a state does not fit its schema at first, as far as the schema can tell at once. */
export function checkState(name: string, state: Schema | undefined, initialState: JsonObject | undefined): void {
  if (state === undefined) return
  checkSchema(state, `agent ${name}: stateSchema`)
  const checked = initialState && validateSync(state, initialState)
  if (!checked || !('problem' in checked)) return
  throw new ValidationError(`agent ${name}: initialState: it does not fit the state: ${checked.problem}`)
}

/** Throws where an output could not be told from the words around it: only objects and arrays can. */
export function checkOutput(name: string, schema: Schema, jsonSchema: JsonSchema) {
  const { type } = jsonSchema
  if (type === undefined || type === 'object' || type === 'array') return { schema, jsonSchema }
  throw new ValidationError(
    `agent ${name}: outputSchema: expected a schema of an object or an array, found one of ${JSON.stringify(type)}: wrap it in an object`,
  )
}
