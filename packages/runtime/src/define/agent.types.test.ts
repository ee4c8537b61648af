// Type tests of agents and their runs. Checked by tsc.

import type { Json, Message } from '@millrace/protocol'
import { type } from 'arktype'
import * as v from 'valibot'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Run } from '../api/run.ts'
import type { Runtime } from '../api/runtime.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { type AgentContext, agent, type ToolNames } from './agent.ts'
import { providerTool, tool } from './tool.ts'

const model = scriptedModel([])
const weather = tool({ name: 'weather', inputSchema: z.object({ city: z.string() }), execute: () => 21 })
const search = providerTool({ name: 'search', id: 'openai.web_search' })
const answer = tool({ name: 'answer', inputSchema: z.object({}), finish: true, execute: async () => ({ done: true }) })

declare const runtime: Runtime

test('infers literal names of an agent and its tools', () => {
  const fixed = agent({
    name: 'fixed',
    model,
    tools: [weather, search],
    stopWhen({ toolNames }) {
      expectTypeOf<'weather'>().toExtend<(typeof toolNames)[number]>()
      return toolNames.includes('search')
    },
  })
  const computed = agent({ name: 'computed', model, tools: ({ step }) => (step > 1 ? [weather, answer] : [weather]) })
  const later = agent({ name: 'later', model, tools: async () => [weather, search] as const })
  expectTypeOf(fixed.name).toEqualTypeOf<'fixed'>()
  expectTypeOf<ToolNames<typeof fixed>>().toEqualTypeOf<'weather' | 'search'>()
  expectTypeOf<ToolNames<typeof computed>>().toEqualTypeOf<'weather' | 'answer'>()
  expectTypeOf<ToolNames<typeof later>>().toEqualTypeOf<'weather' | 'search'>()
})

test('infers the result of a run from its agent', () => {
  const ofZod = agent({
    name: 'zod',
    model,
    outputSchema: z.object({ at: z.string().transform(text => new Date(text)) }),
  })
  const ofValibot = agent({
    name: 'valibot',
    model,
    outputSchema: v.object({ n: v.number() }),
    jsonSchema: { type: 'object' },
  })
  const ofArktype = agent({ name: 'arktype', model, outputSchema: type({ list: 'string[]' }) })
  const ofTool = agent({ name: 'tool', model, tools: [weather, answer] })
  const ofBoth = agent({ name: 'both', model, outputSchema: z.object({ n: z.number() }), tools: () => [answer] })
  const plain = agent({ name: 'plain', model, tools: [weather] })
  const start = {
    zod: () => runtime.start({ agent: ofZod }),
    valibot: () => runtime.start({ agent: ofValibot }),
    arktype: () => runtime.start({ agent: ofArktype }),
    tool: () => runtime.start({ agent: ofTool }),
    both: () => runtime.start({ agent: ofBoth }),
    plain: () => runtime.start({ agent: plain }),
    name: () => runtime.start({ agent: 'plain' }),
    result: async () => (await (await runtime.start({ agent: ofZod })).result()).output,
  }
  expectTypeOf(start.zod).returns.resolves.toEqualTypeOf<Run<{ at: string }>>()
  expectTypeOf(start.valibot).returns.resolves.toEqualTypeOf<Run<{ n: number }>>()
  expectTypeOf(start.arktype).returns.resolves.toEqualTypeOf<Run<{ list: string[] }>>()
  expectTypeOf(start.tool).returns.resolves.toEqualTypeOf<Run<{ done: boolean }>>()
  expectTypeOf(start.both).returns.resolves.toEqualTypeOf<Run<{ n: number } | { done: boolean }>>()
  expectTypeOf(start.plain).returns.resolves.toEqualTypeOf<Run<undefined>>()
  expectTypeOf(start.name).returns.resolves.toEqualTypeOf<Run<unknown>>()
  expectTypeOf(start.result).returns.resolves.toEqualTypeOf<{ at: string } | undefined>()
})

test('infers the state from its schema and the context from the code', () => {
  agent({
    name: 'stateful',
    model: ({ state }) => {
      expectTypeOf(state).toEqualTypeOf<{ count: number } | undefined>()
      return model
    },
    stateSchema: z.object({ count: z.number() }),
    initialState: { count: 0 },
    instructions: ({ state }) => `You have counted to ${state?.count}.`,
    trimHistory(messages, { state }) {
      expectTypeOf(messages).toEqualTypeOf<readonly Message[]>()
      return messages.slice(-(state?.count ?? 0))
    },
  })
  agent({
    name: 'served',
    model,
    instructions: async ({ context }: AgentContext<Json | undefined, { readonly user: { readonly name: string } }>) =>
      `You speak with ${context.user.name}.`,
  })
  agent({
    name: 'open',
    model,
    instructions({ state, context, data }) {
      expectTypeOf(state).toEqualTypeOf<Json | undefined>()
      expectTypeOf(context).toEqualTypeOf<Json | undefined>()
      expectTypeOf(data).toEqualTypeOf<Json | undefined>()
      return undefined
    },
  })
})

test('rejects invalid agents at compile time', () => {
  // Invalid definitions also throw, so this function is only compiled, not called.
  const define = () => {
    // @ts-expect-error no model
    agent({ name: 'none' })
    // @ts-expect-error no model of any provider
    agent({ name: 'none', model: 'gpt' })
    // @ts-expect-error what a tool's definition is, but no tool
    agent({ name: 'none', model, tools: [{ name: 'weather' }] })
    // @ts-expect-error the state is no number at first
    agent({ name: 'none', model, stateSchema: z.object({ count: z.number() }), initialState: { count: 'one' } })
    // @ts-expect-error no bound by that name
    agent({ name: 'none', model, budget: { cost: 1 } })
    // @ts-expect-error an agent that none knows
    runtime.start({ agent: { name: 'none' } })
  }
  expectTypeOf(define).toBeFunction()
})
