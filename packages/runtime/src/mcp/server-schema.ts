import { fromJsonSchema, type JsonSchemaType, type jsonSchemaValidator } from '@modelcontextprotocol/client'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import { ValidationError } from '../error/error.ts'
import { checkSchemaSize, relaxSchema } from '../schema/relax-schema.ts'
import { runWithTimeout } from '../schema/run-with-timeout.ts'
import type { JsonSchema, Schema } from '../schema/schema.ts'
import { truncateText } from './mcp-error.ts'

/** Maximum length of a server's schema, in characters of JSON. */
export const MAX_SCHEMA_LENGTH = 128 * 1024
/** Maximum nesting of a server's schema, in objects and arrays. */
export const MAX_SCHEMA_DEPTH = 128
/** Maximum time to compile a schema or to check a value, in ms. It blocks the process. */
export const CHECK_TIMEOUT_MS = 1000

/** Validates values with servers' schemas safely: without their regular expressions, and with a timeout. */
export const serverSchemaValidator: jsonSchemaValidator = {
  getValidator<T>(jsonSchema: JsonSchemaType) {
    const check = runWithTimeout(CHECK_TIMEOUT_MS, 'compiled', () => compileSchema<T>(jsonSchema as JsonSchema))
    return value => {
      const checked = runWithTimeout(CHECK_TIMEOUT_MS, 'checked', () => check(value))
      return checked.valid ? checked : { ...checked, errorMessage: truncateText(checked.errorMessage) }
    }
  },
}

/** Converts a server's JSON Schema to a schema. @throws {Error} if it is too large or cannot be compiled. */
export function serverSchema(jsonSchema: JsonSchema): Schema {
  checkSchemaSize(jsonSchema, MAX_SCHEMA_LENGTH, MAX_SCHEMA_DEPTH)
  // An asynchronous validator returns a promise, which would count as valid.
  if ('$async' in jsonSchema) throw new ValidationError('$async is not allowed')
  return fromJsonSchema(jsonSchema as JsonSchemaType, serverSchemaValidator)
}

function compileSchema<T>(jsonSchema: JsonSchema) {
  const { schema, isRelaxed } = relaxSchema(jsonSchema)
  // A new validator for each schema, because two schemas may have the same `$id`.
  const compile = (source: JsonSchema) => new AjvJsonSchemaValidator().getValidator<T>(source as JsonSchemaType)
  try {
    return compile(schema)
  } catch (error) {
    if (!isRelaxed) throw error
    // A reference may point to a removed keyword. Then only the type is checked.
    const { type } = schema
    return compile(type === undefined ? {} : { type })
  }
}
