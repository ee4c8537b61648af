// A discriminated union over the complete catalogue, as written by hand with zod.
import { catalogue } from '@millrace/protocol'
import * as z from 'zod'

type Fields = { readonly [name: string]: string }
type Shape = { [name: string]: z.ZodType }
type Options = readonly [z.ZodObject, ...z.ZodObject[]]

const text = z.string()
/** Enumerations are plain strings here, which is cheaper. */
const enumerations = {
  executor: text,
  role: text,
  finishReason: text,
  runStatus: text,
  resumeMode: text,
  whenBusy: text,
}

const basic: { [name: string]: z.ZodType } = {
  ...enumerations,
  string: text,
  number: z.number(),
  count: z.int().min(0),
  boolean: z.boolean(),
  object: z.record(z.string(), z.unknown()),
}

/** Every type of the catalogue. The open `data-*` is one fixed name, because a discriminated union cannot express it. */
export function plainUnion(): z.ZodType {
  const options = Object.entries<{ fields: Fields; kinds?: { [kind: string]: Fields } }>(catalogue).map(
    ([type, { fields, kinds }]) => {
      const common = { type: z.literal(type), ...shapeOf(fields) }
      return kinds === undefined ? z.object(common) : kindsOf(common, kinds)
    },
  )
  options.push(z.object({ type: z.literal('data-weather'), data: z.unknown(), id: text.optional() }))
  return z.discriminatedUnion('type', options as unknown as Options)
}

function kindsOf(common: Shape, kinds: { [kind: string]: Fields }): z.ZodType {
  const options = Object.entries(kinds).map(([kind, fields]) =>
    z.object({ ...common, kind: z.literal(kind), ...shapeOf(fields) }),
  )
  return z.discriminatedUnion('kind', options as unknown as Options)
}

function shapeOf(fields: Fields): Shape {
  return Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, schemaOf(type)]))
}

/** A field by its type name in the catalogue. Nested types accept any value. */
function schemaOf(type: string): z.ZodType {
  if (type.endsWith('?')) return schemaOf(type.slice(0, -1)).optional()
  if (type.endsWith('[]')) return z.array(schemaOf(type.slice(0, -2)))
  return basic[type] ?? z.unknown()
}
