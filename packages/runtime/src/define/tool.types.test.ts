// Type tests of tools. Checked by tsc.

import type { Json } from '@millrace/protocol'
import { type } from 'arktype'
import * as v from 'valibot'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Jsonified } from '../schema/json.ts'
import {
  type AnyTool,
  type Emits,
  providerTool,
  type ToolContext,
  type ToolInput,
  type ToolOutput,
  tool,
} from './tool.ts'

const jsonSchema = { type: 'object' }

test('infers the input from the schema: zod, valibot, arktype', () => {
  const ofZod = tool({
    name: 'zod',
    inputSchema: z.object({ city: z.string(), days: z.string().transform(Number) }),
    execute(input) {
      expectTypeOf(input).toEqualTypeOf<{ city: string; days: number }>()
      return input.days
    },
  })
  const ofValibot = tool({
    name: 'valibot',
    inputSchema: v.object({ city: v.string(), days: v.optional(v.number(), 1) }),
    jsonSchema,
    execute(input) {
      expectTypeOf(input).toEqualTypeOf<{ city: string; days: number }>()
      return input.city
    },
  })
  const ofArktype = tool({
    name: 'arktype',
    inputSchema: type({ city: 'string', 'days?': 'number' }),
    execute(input) {
      expectTypeOf(input).toEqualTypeOf<{ city: string; days?: number }>()
      return { city: input.city }
    },
  })
  expectTypeOf(ofZod.name).toEqualTypeOf<'zod'>()
  expectTypeOf<ToolInput<typeof ofZod>>().toEqualTypeOf<{ city: string; days: string }>()
  expectTypeOf<ToolInput<typeof ofValibot>>().toEqualTypeOf<{ city: string; days?: number | undefined }>()
  expectTypeOf<ToolInput<typeof ofArktype>>().toEqualTypeOf<{ city: string; days?: number }>()
  expectTypeOf<ToolOutput<typeof ofZod>>().toEqualTypeOf<number>()
  expectTypeOf<ToolOutput<typeof ofValibot>>().toEqualTypeOf<string>()
  expectTypeOf<ToolOutput<typeof ofArktype>>().toEqualTypeOf<{ city: string }>()
})

test('infers the output from the returned or last yielded value', () => {
  const input = z.object({})
  const later = tool({ name: 'later', inputSchema: input, execute: async () => ({ n: 1 }) })
  const both = tool({
    name: 'both',
    inputSchema: input,
    async *execute() {
      yield 'begun'
      return { n: 1 }
    },
  })
  const progress = tool({
    name: 'progress',
    inputSchema: input,
    async *execute() {
      yield { n: 1 }
    },
  })
  const now = tool({
    name: 'now',
    inputSchema: input,
    *execute() {
      yield 1
      return 'two'
    },
  })
  const dated = tool({
    name: 'dated',
    inputSchema: input,
    execute: () => ({ at: new Date(), call: () => 1, list: [() => 1, 2] as const }),
  })
  expectTypeOf<ToolOutput<typeof later>>().toEqualTypeOf<{ n: number }>()
  expectTypeOf<ToolOutput<typeof both>>().toEqualTypeOf<{ n: number }>()
  expectTypeOf<ToolOutput<typeof progress>>().toEqualTypeOf<{ n: number }>()
  expectTypeOf<ToolOutput<typeof now>>().toEqualTypeOf<string>()
  expectTypeOf<ToolOutput<typeof dated>>().toEqualTypeOf<{ at: string; list: readonly [null, 2] }>()
})

test('rejects an output that does not fit its schema', () => {
  const input = z.object({})
  const kind = z.object({ kind: z.enum(['a', 'b']), n: z.string().transform(Number) })
  const fits = tool({
    name: 'fits',
    inputSchema: input,
    outputSchema: kind,
    execute: () => ({ kind: 'a' as const, n: '1' }),
  })
  expectTypeOf<ToolOutput<typeof fits>>().toEqualTypeOf<{ kind: 'a' | 'b'; n: number }>()
  tool({
    name: 'streams',
    inputSchema: input,
    outputSchema: kind,
    async *execute() {
      yield 'soon'
      return { kind: 'b', n: '2' } as const
    },
  })
  // @ts-expect-error the output is no kind that there is
  tool({ name: 'other', inputSchema: input, outputSchema: kind, execute: () => ({ kind: 'c' as const, n: '1' }) })
  // @ts-expect-error the output lacks a field
  tool({ name: 'less', inputSchema: input, outputSchema: kind, execute: async () => ({ kind: 'a' as const }) })
})

test('rejects invalid tools at compile time', () => {
  // Invalid definitions also throw, so this function is only compiled, not called.
  const define = () => {
    // @ts-expect-error no schema
    tool({ name: 'none', execute: () => 1 })
    // @ts-expect-error no code
    tool({ name: 'none', inputSchema: z.object({}) })
    // @ts-expect-error the code wants another input
    tool({ name: 'none', inputSchema: z.object({ a: z.string() }), execute: (input: { a: number }) => input.a })
    // @ts-expect-error an id without its provider
    providerTool({ name: 'search', id: 'search' })
  }
  expectTypeOf(define).toBeFunction()
  expectTypeOf(providerTool({ name: 'search', id: 'openai.web_search' }).name).toEqualTypeOf<'search'>()
})

test('takes the types of state and context from the code', () => {
  interface State {
    count: number
  }
  interface Context {
    readonly db: { find(id: string): Promise<string> }
  }
  tool({
    name: 'count',
    inputSchema: z.object({}),
    execute(_input, context: ToolContext<State, Context>) {
      expectTypeOf(context.state).toEqualTypeOf<State>()
      context.updateState(state => ({ count: state.count + 1 }))
      context.updateState(state => {
        state.count++
        return undefined
      })
      // @ts-expect-error no such state
      context.updateState(() => ({ sum: 1 }))
      return context.context.db.find('a')
    },
  })
  tool({
    name: 'any',
    inputSchema: z.object({}),
    execute(_input, context) {
      expectTypeOf(context.state).toEqualTypeOf<Json | undefined>()
      expectTypeOf(context.context).toEqualTypeOf<Json | undefined>()
      // @ts-expect-error data is JSON
      void (() => context.emit('note', new Map()))
      return context.idempotencyKey
    },
  })
})

test('takes the types of emitted data from the code, and allows any without them', () => {
  const logged = ({ emit }: ToolContext, line: string) => emit('line', line)
  const shown = tool({
    name: 'shown',
    inputSchema: z.object({}),
    execute(_input, context: Emits<{ weather: { degrees: number }; seen: Date }>) {
      void context.emit('weather', { degrees: 21 }, { id: 'Ulm' })
      void context.emit('seen', new Date(0))
      // @ts-expect-error it is a number
      void context.emit('weather', { degrees: '21' })
      // @ts-expect-error no such data
      void context.emit('whether', { degrees: 21 })
      // @ts-expect-error what it shows is not any data
      void logged(context, 'a')
      return 1
    },
  })
  expectTypeOf<DataOf<typeof shown>>().toEqualTypeOf<{ weather: { degrees: number }; seen: string }>()
  const checked = tool({
    name: 'checked',
    inputSchema: z.object({}),
    outputSchema: z.number(),
    execute(_input, { emit, state }: ToolContext<{ n: number }, undefined, { n: number }>) {
      void emit('n', state.n)
      return 1
    },
  })
  expectTypeOf<DataOf<typeof checked>>().toEqualTypeOf<{ n: number }>()
  const open = tool({
    name: 'open',
    inputSchema: z.object({}),
    execute: (_input, context) => void logged(context, 'a'),
  })
  expectTypeOf<DataOf<typeof open>>().toEqualTypeOf<unknown>()
  expectTypeOf([shown, checked, open]).toExtend<AnyTool[]>()
})

type DataOf<T> = T extends { readonly types?: { readonly data: infer Data } } ? Data : never

test('converts types to what JSON keeps', () => {
  expectTypeOf<Jsonified<unknown>>().toEqualTypeOf<unknown>()
  expectTypeOf<Jsonified<{ a?: Date; b: string[]; c: null }>>().toEqualTypeOf<{ a?: string; b: string[]; c: null }>()
  expectTypeOf<Jsonified<Json>>().toEqualTypeOf<Json>()
})
