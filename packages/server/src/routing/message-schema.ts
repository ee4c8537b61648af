// What people say, as a body holds it: of the kinds that are theirs to say, each as it should be.

import type { SaidPart } from '@millrace/runtime'
import * as z from 'zod'
import { anyJson, anyObject, isObject, jsonSchemaOf } from './json-schemas.ts'

const url = { url: z.string() }
const title = { title: z.string().optional() }
const filename = { filename: z.string().optional() }

const data = z.looseObject({ type: z.string().regex(/^data-/), data: anyJson })
const kinds: ReadonlyMap<unknown, z.ZodType> = new Map(
  Object.entries({
    text: { text: z.string() },
    file: { ...url, mediaType: z.string(), ...filename },
    'source-url': { sourceId: z.string(), ...url, ...title },
    'source-document': {
      sourceId: z.string(),
      ...title,
      mediaType: z.string().optional(),
      ...filename,
      text: z.string().optional(),
    },
  } satisfies Record<Exclude<SaidPart['type'], `data-${string}`>, z.ZodRawShape>).map(([type, fields]) => [
    type,
    z.looseObject({ type: z.literal(type), ...fields }),
  ]),
)

const KINDS = `expected ${[...kinds.keys()].join(', ')} or data-*`

const kindOf = ({ type }: { readonly type?: unknown }): z.ZodType | undefined =>
  kinds.get(type) ?? (typeof type === 'string' && type.startsWith('data-') ? data : undefined)

/** A part, checked by what it says to be; it stays as it is. */
const part = z
  .custom<SaidPart>()
  .check(({ value, issues }) => {
    const say = (message: string, path: string[] = []) => issues.push({ code: 'custom', input: value, path, message })
    if (!isObject(value)) return void say('expected a part')
    const kind = kindOf(value)
    if (kind === undefined) return void say(KINDS, ['type'])
    for (const issue of kind.safeParse(value).error?.issues ?? []) issues.push({ ...issue, input: value } as never)
  })
  .meta({ oneOf: [...kinds.values(), data].map(kind => jsonSchemaOf(kind, 'input')) })

/** What a person says: text, or parts. */
export const Input = z.union([
  z.string(),
  z.strictObject({ parts: z.array(part).min(1).max(256), metadata: anyObject.optional() }),
])
