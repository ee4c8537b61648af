// Validates the response to an interrupt against the JSON Schema of its form. The schema is untrusted: a model may have
// written it.

import { ValidationError } from '../error/error.ts'
import type { CheckOutcome } from './perform-check.ts'
import { checkSchemaSize } from './relax-schema.ts'
import type { JsonSchema } from './schema.ts'
import type { CheckCaller, SchemaChecker } from './schema-checker.ts'

/** Maximum length of a form's schema, in characters of JSON. */
export const MAX_FORM_LENGTH = 64 * 1024
/** Maximum nesting of a form's schema, in objects and arrays. */
export const MAX_FORM_DEPTH = 64
/** Maximum CPU time of a check, in ms. */
export const FORM_CHECK_TIMEOUT_MS = 250

/** A checker, and the caller whose checks it performs. */
export interface FormChecks {
  readonly checker: SchemaChecker
  readonly caller: CheckCaller
}

/**
 * Checks the schema of a form.
 * @throws {ValidationError} if no response can be checked with it, because then none could be accepted.
 * @throws {CheckLimitError} if too many checks wait.
 */
export async function checkFormSchema(schema: unknown, label: string, checks: FormChecks): Promise<void> {
  const outcome = await outcomeOf(schema, {}, checks)
  if (!('failure' in outcome)) return
  throw new ValidationError(`${label}: expected a JSON Schema that can check responses: ${outcome.failure}`)
}

/**
 * The problems of a response with their paths; undefined if it is valid. A check that fails is a problem, too.
 * @throws {CheckLimitError} if the caller has used up its time, or too many checks wait.
 */
export async function formResponseProblem(
  schema: unknown,
  response: unknown,
  checks: FormChecks,
): Promise<string | undefined> {
  const outcome = await outcomeOf(schema, { value: response }, checks)
  if ('failure' in outcome) return `the response cannot be checked with the form’s schema: ${outcome.failure}`
  const { problems } = outcome
  return problems.length > 0 ? `the response does not match the form: ${problems.join('; ')}` : undefined
}

async function outcomeOf(
  schema: unknown,
  checked: { readonly value?: unknown },
  { checker, caller }: FormChecks,
): Promise<CheckOutcome> {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return { failure: 'it is not an object' }
  try {
    checkSchemaSize(schema, MAX_FORM_LENGTH, MAX_FORM_DEPTH)
  } catch (error) {
    return { failure: (error as Error).message }
  }
  return checker.check({ schema: schema as JsonSchema, ...checked }, FORM_CHECK_TIMEOUT_MS, caller)
}
