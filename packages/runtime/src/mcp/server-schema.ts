import { fromJsonSchema, type JsonSchemaType, type jsonSchemaValidator } from '@modelcontextprotocol/client'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import { ValidationError } from '../error/error.ts'
import { checkSchemaSize } from '../schema/check-schema-size.ts'
import { relaxSchema } from '../schema/relax-schema.ts'
import { runWithTimeout } from '../schema/run-with-timeout.ts'
import type { JsonSchema, Schema } from '../schema/schema.ts'
import { shortened } from './mcp-error.ts'

/** The largest schema that is compiled, as JSON. */
export const MAX_SCHEMA_LENGTH = 128 * 1024
/** How deep a schema may go, in objects and lists. */
export const MAX_SCHEMA_DEPTH = 128
/** How long compiling a schema, or checking a value, may hold up the process: a schema of few words can ask for work without end. */
export const CHECK_TIMEOUT_MS = 1000

/** Checks values by the schemas of servers, as far as that is safe: without their regular expressions, and within a time. */
export const serverSchemaValidator: jsonSchemaValidator = {
  getValidator<T>(jsonSchema: JsonSchemaType) {
    const check = runWithTimeout(CHECK_TIMEOUT_MS, 'compiled', () => compileSchema<T>(jsonSchema as JsonSchema))
    return value => {
      const checked = runWithTimeout(CHECK_TIMEOUT_MS, 'checked', () => check(value))
      return checked.valid ? checked : { ...checked, errorMessage: shortened(checked.errorMessage) }
    }
  },
}

/** A schema that checks what a server's JSON Schema says; throws where that is none. */
export function serverSchema(jsonSchema: JsonSchema): Schema {
  checkSchemaSize(jsonSchema, MAX_SCHEMA_LENGTH, MAX_SCHEMA_DEPTH)
  // Such a schema answers later than it is asked: whatever it is asked would pass, and its refusal would reach nobody.
  if ('$async' in jsonSchema) throw new ValidationError('$async is not allowed')
  return fromJsonSchema(jsonSchema as JsonSchemaType, serverSchemaValidator)
}

function compileSchema<T>(jsonSchema: JsonSchema) {
  const { schema, isRelaxed } = relaxSchema(jsonSchema)
  // Each has a validator of its own: what one calls itself must not stand for another of that name.
  const compile = (each: JsonSchema) => new AjvJsonSchemaValidator().getValidator<T>(each as JsonSchemaType)
  try {
    return compile(schema)
  } catch (error) {
    if (!isRelaxed) throw error
    // A reference may lead to what was left out; then no more than the kind of the value is known.
    const { type } = schema
    return compile(type === undefined ? {} : { type })
  }
}
