import { fromJsonSchema, type JsonSchemaType } from '@modelcontextprotocol/client'
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import { ValidationError } from '../error/error.ts'
import type { JsonSchema, Schema } from '../schema/schema.ts'

/** The largest schema that is compiled, as JSON. */
const LONGEST_SCHEMA = 128 * 1024

/** A schema that checks what a server's JSON Schema says; throws where that is none. */
export function schemaOf(jsonSchema: JsonSchema): Schema {
  if (JSON.stringify(jsonSchema).length > LONGEST_SCHEMA) throw new ValidationError('it is too large')
  // Such a schema answers later than it is asked: whatever it is asked would pass, and its refusal would reach nobody.
  if ('$async' in jsonSchema) throw new ValidationError('$async is not allowed')
  // Each has a validator of its own: what one calls itself must not stand for another of that name.
  return fromJsonSchema(jsonSchema as JsonSchemaType, new AjvJsonSchemaValidator())
}
