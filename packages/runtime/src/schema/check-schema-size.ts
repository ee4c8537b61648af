import { ValidationError } from '../error/error.ts'

/** @throws {ValidationError} if a JSON Schema is longer than `maxLength` characters of JSON or nested deeper than `maxDepth`. */
export function checkSchemaSize(jsonSchema: unknown, maxLength: number, maxDepth: number): void {
  checkDepth(jsonSchema, maxDepth)
  const { length } = JSON.stringify(jsonSchema)
  if (length > maxLength) throw new ValidationError(`expected at most ${maxLength} characters of JSON, found ${length}`)
}

function checkDepth(value: unknown, levelsLeft: number): void {
  if (typeof value !== 'object' || value === null) return
  if (levelsLeft === 0) throw new ValidationError('it is nested too deep')
  for (const each of Object.values(value)) checkDepth(each, levelsLeft - 1)
}
