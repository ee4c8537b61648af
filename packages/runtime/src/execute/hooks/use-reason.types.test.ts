import type { Json } from '@millrace/protocol'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Model } from '../../model/model.ts'
import { useReason } from './use-reason.ts'

declare const model: Model

const email = z.object({
  subject: z.string(),
  body: z.string().optional(),
  bullets: z.array(z.string()),
  sections: z.array(z.object({ title: z.string(), rows: z.array(z.number()) })),
  at: z.date(),
  labels: z.record(z.string(), z.string()),
})

// Only compiled, not run.
const never = (_: () => unknown): void => {}

test('infers the output from the schema, as JSON', () => {
  never(async () => {
    const plain = await useReason({ model, input: 'x' })
    expectTypeOf(plain.output).toEqualTypeOf<undefined>()
    expectTypeOf(plain.text).toBeString()
    const { output } = await useReason({ model, input: 'x', outputSchema: email })
    expectTypeOf(output.subject).toBeString()
    expectTypeOf(output.at).toBeString()
    expectTypeOf(output.sections[0]?.rows).toEqualTypeOf<number[] | undefined>()
  })
})

test('infers the response from its schema', () => {
  never(async () => {
    const requestSchema = z.object({ kind: z.literal('text') })
    const loose = await useReason({ model, input: 'x', interrupt: { requestSchema } })
    expectTypeOf(loose.interruptResponse).toEqualTypeOf<Json | undefined>()
    const responseSchema = z.object({ tone: z.enum(['dry', 'warm']) })
    const typed = await useReason({ model, input: 'x', interrupt: { requestSchema, responseSchema } })
    expectTypeOf(typed.interruptResponse).toEqualTypeOf<{ tone: 'dry' | 'warm' } | undefined>()
  })
})

test('infers field paths and update kinds from the output', () => {
  never(() => {
    const ask = { model, input: 'x', outputSchema: email } as const
    useReason({
      ...ask,
      structured: {
        fields: {
          subject: 'set',
          body: 'text-delta',
          bullets: 'append',
          'bullets.0': 'set',
          'sections.*.title': 'text-delta',
          'sections.2.rows': 'append',
          'sections.*.rows.*': 'set',
          'labels.any.thing': 'text-delta',
        },
      },
    })
    // @ts-expect-error There is no such field.
    useReason({ ...ask, structured: { fields: { subjekt: 'set' } } })
    // @ts-expect-error A text does not arrive item by item.
    useReason({ ...ask, structured: { fields: { subject: 'append' } } })
    // @ts-expect-error A number does not grow.
    useReason({ ...ask, structured: { fields: { 'sections.*.rows.*': 'text-delta' } } })
    // @ts-expect-error There is no such field in a section.
    useReason({ ...ask, structured: { fields: { 'sections.*.name': 'set' } } })
    // An unknown type allows any field.
    useReason({ model, input: 'x', outputSchema: z.any(), structured: { fields: { 'a.*.b': 'append' } } })
  })
})

test('rejects invalid options', () => {
  never(() => {
    // @ts-expect-error A model is needed.
    useReason({ input: 'x' })
    // @ts-expect-error An input is needed.
    useReason({ model })
    // @ts-expect-error A request has a schema.
    useReason({ model, input: 'x', interrupt: { mode: 'optional' } })
    // @ts-expect-error There are two modes.
    useReason({ model, input: 'x', interrupt: { mode: 'maybe', requestSchema: email } })
  })
})
