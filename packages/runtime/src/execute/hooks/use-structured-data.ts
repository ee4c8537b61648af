import type { Chunk, Json } from '@millrace/protocol'
import { describeType } from '../../error/check-object.ts'
import { ValidationError } from '../../error/error.ts'
import { toJson } from '../../schema/json.ts'
import { jsonSizeAtLeast } from '../../schema/json-size.ts'
import { type InputOf, type Schema, validateSync } from '../../schema/schema.ts'
import { currentExecution, type NodeExecution } from '../replay/execution.ts'

/** Fields that identify a structured object. */
export interface StructuredAbout {
  /** Id of the object. @default a new object */
  readonly streamId?: string
  /** The application's name for this kind of object. @default 'generic' */
  readonly dataType?: string
  /** Id of the schema of the object, passed to clients. */
  readonly schemaId?: string
  /** Version of the schema of the object, passed to clients. */
  readonly schemaVersion?: string
  /** The application's id of the object, passed to clients. */
  readonly id?: string
}

/** An update of a structured object. @default kind 'final' */
export type StructuredUpdate<S extends Schema = Schema> = StructuredAbout &
  (
    | { readonly kind?: 'final'; readonly data: InputOf<S>; readonly dataSchema?: S }
    | { readonly kind: 'set'; readonly path: string; readonly value: InputOf<S>; readonly valueSchema?: S }
    | { readonly kind: 'append'; readonly path: string; readonly items: readonly InputOf<S>[]; readonly itemSchema?: S }
    | { readonly kind: 'text-delta'; readonly path: string; readonly delta: string }
  )

/**
 * Shows an update of a structured object once. Awaiting the result applies backpressure.
 * @throws {ValidationError} if the update is invalid or does not fit the current object.
 */
export function useStructuredData<S extends Schema>(update: StructuredUpdate<S>): Promise<void> {
  const written = Promise.resolve(emitStructured(currentExecution('useStructuredData'), update, 'useStructuredData'))
  currentExecution('useStructuredData').failOnRejection(written)
  return written
}

/**
 * Writes an update. `label` names the caller in error messages.
 * @throws {ValidationError} if the update is invalid or does not fit the current object.
 */
export function emitStructured(execution: NodeExecution, update: StructuredUpdate, label: string): PromiseLike<void> {
  if (typeof update !== 'object' || update === null) {
    throw new ValidationError(`${label}: expected an update, found ${describeType(update)}`)
  }
  const { dataType = 'generic', schemaId, schemaVersion, id } = update
  const { maxValueBytes } = execution.work.writer
  // Before schemas read all of it.
  if (jsonSizeAtLeast(update, maxValueBytes) > maxValueBytes) {
    throw new ValidationError(
      `${label}: the update exceeds the size limit of the log: send it in parts, or a reference`,
    )
  }
  for (const [name, text] of Object.entries({ streamId: update.streamId, dataType, schemaId, schemaVersion, id })) {
    if (text !== undefined && (typeof text !== 'string' || text === '')) {
      throw new ValidationError(`${label}: ${name}: expected text, found ${describeType(text)}`)
    }
  }
  const { work, at } = execution
  const streamId = update.streamId ?? `${work.runId}:${execution.nextName('structured').replace('/', ':')}`
  return execution.emitStructured(
    {
      type: 'structured-data',
      streamId,
      dataType,
      ...(schemaId !== undefined && { schemaId }),
      ...(schemaVersion !== undefined && { schemaVersion }),
      ...(id !== undefined && { id }),
      node: at.node,
      ...changeOf(update, label),
    } as Extract<Chunk, { type: 'structured-data' }>,
    label,
  )
}

function changeOf(
  update: StructuredUpdate,
  label: string,
): { readonly kind: string } & { readonly [name: string]: Json } {
  switch (update.kind) {
    case undefined:
    case 'final':
      return { kind: 'final', data: checked(update.data, update.dataSchema, `${label}: data`) }
    case 'set':
      return { kind: 'set', path: update.path, value: checked(update.value, update.valueSchema, `${label}: value`) }
    case 'append': {
      const { path, items, itemSchema } = update
      if (!Array.isArray(items))
        throw new ValidationError(`${label}: items: expected an array, found ${describeType(items)}`)
      return {
        kind: 'append',
        path,
        items: items.map((item, index) => checked(item, itemSchema, `${label}: items.${index}`)),
      }
    }
    case 'text-delta': {
      const { path, delta } = update
      if (typeof delta === 'string') return { kind: 'text-delta', path, delta }
      throw new ValidationError(`${label}: delta: expected text, found ${describeType(delta)}`)
    }
    default:
      throw new ValidationError(`${label}: kind: expected set, append, text-delta or final`)
  }
}

/** Validates a value and converts it to JSON. */
function checked(input: unknown, schema: Schema | undefined, label: string): Json {
  const parsed = schema ? validateSync(schema, input) : { value: input }
  if (parsed === undefined) throw new ValidationError(`${label}: expected a synchronous schema`)
  if ('problem' in parsed) throw new ValidationError(`${label} does not match its schema: ${parsed.problem}`)
  const { value } = parsed
  return toJson(value, cause => new ValidationError(`${label}: expected JSON, found ${describeType(value)}`, { cause }))
}
