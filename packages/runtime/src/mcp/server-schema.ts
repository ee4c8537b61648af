import { ValidationError } from '../error/error.ts'
import type { SchemaCheck } from '../schema/perform-check.ts'
import { checkSchemaSize, relaxSchema } from '../schema/relax-schema.ts'
import type { JsonSchema, Schema } from '../schema/schema.ts'
import type { SchemaChecker } from '../schema/schema-checker.ts'
import { truncateText } from './mcp-error.ts'

/** Maximum length of a server's schema, in characters of JSON. */
export const MAX_SCHEMA_LENGTH = 128 * 1024
/** Maximum nesting of a server's schema, in objects and arrays. */
export const MAX_SCHEMA_DEPTH = 128
/** Maximum CPU time of a check, in ms. */
export const CHECK_TIMEOUT_MS = 1000

/** A checker, and the server whose schemas it checks. */
export interface ServerChecks {
  readonly checker: SchemaChecker
  /** Label of the server. */
  readonly server: string
}

/**
 * Converts a server's JSON Schema to a schema, which is checked without its regular expressions.
 * @throws {Error} if it is too large, or cannot check values.
 */
export async function serverSchema(jsonSchema: JsonSchema, { checker, server }: ServerChecks): Promise<Schema> {
  checkSchemaSize(jsonSchema, MAX_SCHEMA_LENGTH, MAX_SCHEMA_DEPTH)
  const caller = { kind: 'server', id: server } as const
  const perform = (check: SchemaCheck) => checker.check(check, CHECK_TIMEOUT_MS, caller)
  const schema = await usableSchema(jsonSchema, perform)
  return {
    '~standard': {
      version: 1,
      vendor: 'mcp',
      async validate(value) {
        if (value === undefined) return { issues: [{ message: 'expected a value, found none' }] }
        const outcome = await perform({ schema, value })
        const problems = 'failure' in outcome ? [outcome.failure] : outcome.problems
        return problems.length > 0 ? { issues: [{ message: truncateText(problems.join('; ')) }] } : { value }
      },
    },
  }
}

/** The part of a schema that is checked. @throws {ValidationError} if it cannot check values. */
async function usableSchema(
  jsonSchema: JsonSchema,
  perform: (check: SchemaCheck) => ReturnType<SchemaChecker['check']>,
): Promise<JsonSchema> {
  const { schema, isRelaxed } = relaxSchema(jsonSchema)
  const outcome = await perform({ schema, isStrict: true })
  if (!('failure' in outcome)) return schema
  if (isRelaxed) {
    // A reference may point to a removed keyword. Then only the type is checked.
    const { type } = schema
    const typeSchema = type === undefined ? {} : { type }
    if (!('failure' in (await perform({ schema: typeSchema, isStrict: true })))) return typeSchema
  }
  throw new ValidationError(outcome.failure)
}
