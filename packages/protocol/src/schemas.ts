// The catalogue as zod schemas. They have their own entry point, so that clients do not bundle zod. They accept the same values as the
// validators, and return a copy by zod with all unknown fields.

import * as z from 'zod'
import { catalogue, dataRow, type Row } from './catalogue/catalogue.ts'
import type { Chunk } from './catalogue/chunk.ts'
import { type Check, checkOf } from './catalogue/field-check.ts'
import { type FieldTypes, type Kinds, type NamedType, types } from './catalogue/field-types.ts'
import { type Entry, entryFields, origins } from './entry/entry.ts'
import { frames, type WireFrame } from './frame/frame.ts'
import { checkChunk } from './validate/validate.ts'

type Shape = { [name: string]: z.ZodType }
type Options = readonly [z.core.$ZodTypeDiscriminable, ...z.core.$ZodTypeDiscriminable[]]

/** A value that is returned unchanged: zod would copy objects without their `__proto__` key. */
const unchanged = (name: string, jsonSchema: object): z.ZodType =>
  z
    .unknown()
    .refine(value => checkOf(name)(value) === undefined, {
      error: issue => `Invalid input${checkOf(name)(issue.input)}`,
    })
    .meta({ ...jsonSchema })

const schemas = new Map<string, z.ZodType>([
  ['string', z.string()],
  ['number', z.number()],
  ['count', z.int().min(0)],
  ['sequence', z.int().min(1)],
  ['boolean', z.boolean()],
  ['true', z.literal(true)],
  ['1', z.literal(1)],
  ['json', unchanged('json', {})],
  ['object', unchanged('object', { type: 'object' })],
])

/** The schema of a field type by its name. Cached. */
function schemaOf(name: string): z.ZodType {
  let schema = schemas.get(name)
  if (schema === undefined) {
    const item = name.slice(0, -2)
    schema = name.endsWith('?')
      ? schemaOf(name.slice(0, -1)).optional()
      : name.endsWith('[]')
        ? z.array(schemaOf(item))
        : name.endsWith('{}')
          ? unchanged(name, { type: 'object', additionalProperties: jsonSchemaOf(item) })
          : named(name, types[name as keyof typeof types])
    schemas.set(name, schema)
  }
  return schema
}

function jsonSchemaOf(name: string): object {
  const { $schema, ...rest } = z.toJSONSchema(schemaOf(name))
  return rest
}

function named(name: string, type: NamedType): z.ZodType {
  if ('on' in type) return kindsSchema(name, type)
  if ('fields' in type) return z.looseObject(shapeOf(type.fields))
  return z.enum(type as readonly string[])
}

const shapeOf = (fields: FieldTypes): Shape =>
  Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, schemaOf(type)]))

const oneOf = (on: string, options: readonly z.ZodType[]): z.ZodType =>
  z.discriminatedUnion(on, options as unknown as Options)

function kindsSchema(name: string, { on, open, kinds }: Kinds, common: Shape = {}): z.ZodType {
  const { 'data-*': data, ...closed } = kinds
  const options = Object.entries(closed).map(([kind, fields]) =>
    z.looseObject({ ...common, [on]: z.literal(kind), ...shapeOf(fields) }),
  )
  return open ? openUnion(on, Object.keys(closed), options, data as FieldTypes, checkOf(name)) : oneOf(on, options)
}

/** A union of the known kinds, `data-*`, and any other kind with any fields. Errors have the text of the validators. */
function openUnion(
  on: string,
  kinds: string[],
  options: readonly z.ZodType[],
  data: FieldTypes,
  check: Check,
): z.ZodType {
  const others = new RegExp(`^(?!data-)(?!(?:${kinds.join('|')})$)`)
  const all = [
    oneOf(on, options),
    z.looseObject({ [on]: z.templateLiteral(['data-', z.string()]), ...shapeOf(data) }),
    z.looseObject({ [on]: z.string().regex(others, { abort: true, error: 'Invalid input: expected another kind' }) }),
  ]
  return z.union(all, { error: issue => `Invalid input${check(issue.input)}` })
}

function rowSchema(type: string, row: Row): z.ZodType {
  const common = { type: z.literal(type), ...shapeOf(row.fields) }
  return row.kinds === undefined ? z.looseObject(common) : kindsSchema(type, { on: 'kind', kinds: row.kinds }, common)
}

/** A chunk of a type in the catalogue, of `data-*`, or of an unknown type. */
export const ChunkSchema = /* @__PURE__ */ openUnion(
  'type',
  Object.keys(catalogue),
  Object.entries(catalogue).map(([type, row]) => rowSchema(type, row)),
  dataRow.fields,
  checkChunk,
) as z.ZodType<Chunk>

const origin = z.union([
  z.looseObject({ ...shapeOf(origins.writer), guest: z.never().optional() }),
  z.looseObject(shapeOf(origins.guest)),
])

/** A chunk in the log of a session, with its sequence and origin. */
export const EntrySchema = /* @__PURE__ */ z.looseObject({
  ...shapeOf(entryFields),
  origin,
  chunk: ChunkSchema,
}) as z.ZodType as z.ZodType<Entry>

const wireEntry = z.looseObject({ ...shapeOf(entryFields), origin: origin.optional(), chunk: ChunkSchema })

/** A frame on the wire. The first entry of a frame has an origin; the others may inherit it. */
export const FrameSchema = /* @__PURE__ */ oneOf(
  'type',
  Object.entries(frames).map(([type, fields]) =>
    z.looseObject({
      type: z.literal(type),
      ...shapeOf(fields),
      ...(type === 'entries' && { entries: z.union([z.tuple([]), z.tuple([EntrySchema], wireEntry)]) }),
    }),
  ),
) as z.ZodType<WireFrame>
