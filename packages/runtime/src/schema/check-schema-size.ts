import { ValidationError } from '../error/error.ts'

/** Throws where a JSON Schema of others is larger, as JSON, or goes deeper than what is looked at. */
export function checkSchemaSize(jsonSchema: unknown, longest: number, deepest: number): void {
  checkDepth(jsonSchema, deepest)
  if (JSON.stringify(jsonSchema).length > longest) throw new ValidationError('it is too large')
}

function checkDepth(value: unknown, left: number): void {
  if (typeof value !== 'object' || value === null) return
  if (left === 0) throw new ValidationError('it goes too deep')
  for (const each of Object.values(value)) checkDepth(each, left - 1)
}
