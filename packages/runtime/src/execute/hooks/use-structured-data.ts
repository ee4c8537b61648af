import type { Chunk, Json } from '@millrace/protocol'
import { describeType } from '../../error/check-object.ts'
import { ValidationError } from '../../error/error.ts'
import { toJson } from '../../schema/json.ts'
import { type InputOf, type Schema, validateSync } from '../../schema/schema.ts'
import { currentExecution, type NodeExecution } from '../replay/execution.ts'

/** What all updates of a structured object may say of it. */
export interface StructuredAbout {
  /** Which object it is; a new one, if nothing is said. */
  readonly streamId?: string
  /** The application's name for objects of its kind. */
  readonly dataType?: string
  readonly schemaId?: string
  readonly schemaVersion?: string
  readonly id?: string
}

/** One update of a structured object; the whole of it, if no kind is said. */
export type StructuredUpdate<S extends Schema = Schema> = StructuredAbout &
  (
    | { readonly kind?: 'final'; readonly data: InputOf<S>; readonly dataSchema?: S }
    | { readonly kind: 'set'; readonly path: string; readonly value: InputOf<S>; readonly valueSchema?: S }
    | { readonly kind: 'append'; readonly path: string; readonly items: readonly InputOf<S>[]; readonly itemSchema?: S }
    | { readonly kind: 'text-delta'; readonly path: string; readonly delta: string }
  )

/** Shows an update of a structured object, once; throws at once where it does not fit. Awaiting it waits for room, which code that shows much should. */
export function useStructuredData<S extends Schema>(update: StructuredUpdate<S>): Promise<void> {
  const written = Promise.resolve(emitStructured(currentExecution('useStructuredData'), update, 'useStructuredData'))
  currentExecution('useStructuredData').failOnRejection(written)
  return written
}

/** Says an update in an execution; throws where it does not fit, named by what asked for it. */
export function emitStructured(execution: NodeExecution, update: StructuredUpdate, what: string): PromiseLike<void> {
  if (typeof update !== 'object' || update === null) {
    throw new ValidationError(`${what}: expected an update, found ${describeType(update)}`)
  }
  const { dataType = 'generic', schemaId, schemaVersion, id } = update
  for (const [name, text] of Object.entries({ streamId: update.streamId, dataType, schemaId, schemaVersion, id })) {
    if (text !== undefined && (typeof text !== 'string' || text === '')) {
      throw new ValidationError(`${what}: ${name}: expected text, found ${describeType(text)}`)
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
      ...changeOf(update, what),
    } as Extract<Chunk, { type: 'structured-data' }>,
    what,
  )
}

function changeOf(
  update: StructuredUpdate,
  what: string,
): { readonly kind: string } & { readonly [name: string]: Json } {
  switch (update.kind) {
    case undefined:
    case 'final':
      return { kind: 'final', data: checked(update.data, update.dataSchema, `${what}: data`) }
    case 'set':
      return { kind: 'set', path: update.path, value: checked(update.value, update.valueSchema, `${what}: value`) }
    case 'append': {
      const { path, items, itemSchema } = update
      if (!Array.isArray(items))
        throw new ValidationError(`${what}: items: expected an array, found ${describeType(items)}`)
      return {
        kind: 'append',
        path,
        items: items.map((item, index) => checked(item, itemSchema, `${what}: items.${index}`)),
      }
    }
    case 'text-delta': {
      const { path, delta } = update
      if (typeof delta === 'string') return { kind: 'text-delta', path, delta }
      throw new ValidationError(`${what}: delta: expected text, found ${describeType(delta)}`)
    }
    default:
      throw new ValidationError(`${what}: kind: expected set, append, text-delta or final`)
  }
}

/** A value as its schema has it, and as JSON has that. */
function checked(given: unknown, schema: Schema | undefined, what: string): Json {
  const taken = schema ? validateSync(schema, given) : { value: given }
  if (taken === undefined) throw new ValidationError(`${what}: expected a schema that answers at once`)
  if ('problem' in taken) throw new ValidationError(`${what} does not fit: ${taken.problem}`)
  const { value } = taken
  return toJson(value, cause => new ValidationError(`${what}: expected JSON, found ${describeType(value)}`, { cause }))
}
