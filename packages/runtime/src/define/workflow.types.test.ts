// Type tests of workflows. Checked by tsc.

import type { Json } from '@millrace/protocol'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { scriptedModel } from '../model/scripted-model.ts'
import { agent } from './agent.ts'
import type { EdgeDefinition } from './edge.ts'
import type { CheckedEdges } from './edge-types.ts'
import type { NodeContext, NodeFailure, NodeResult } from './node.ts'
import { type WorkflowCallInput, type WorkflowInput, type WorkflowOutput, workflow } from './workflow.ts'

const model = scriptedModel([])
const researcher = agent({ name: 'researcher', model, outputSchema: z.object({ facts: z.array(z.string()) }) })
const talker = agent({ name: 'talker', model })

const text = ({ input }: NodeContext<string>) => ({ data: input })
const count = ({ input }: NodeContext<number>) => ({ data: input })
const anything = () => {}

test('infers the input from the message text and the output from the nodes before the end', () => {
  const draft = workflow({
    id: 'email-draft',
    nodes: {
      ask: async ({ input }: NodeContext<string>) =>
        input === 'clear' ? { data: { tone: input }, condition: 'clear' } : { data: input, condition: 'again' },
      draft: {
        run: async ({ input, params }: NodeContext<{ tone: string }, { max: number; list: string[] }>) => ({
          data: { body: input.tone, max: params.max },
        }),
        params: { max: 3, list: ['a'] },
        title: 'Writing',
        retry: { attempts: 3, when: error => error instanceof Error },
        onError: { route: 'apology' },
      },
      research: researcher,
      check: ({ input }: NodeContext<{ body: string }>) => ({ data: input.body.length }),
      translate: ({ input }: NodeContext<{ body: string }>) => ({ data: input.body }),
      merge: ({ input }: NodeContext<{ check: number; translate: string }>) => ({ data: { all: input.translate } }),
      apology: ({ input }: NodeContext<NodeFailure>) => ({ ui: { message: input.message }, data: null }),
      log: async () => {},
    },
    edges: [
      ['start', 'ask'],
      ['ask', 'draft', { when: 'clear' }],
      ['ask', 'ask', { when: 'again', max: 3 }],
      ['ask', 'research', { otherwise: true }],
      ['draft', ['check', 'translate'], { join: 'merge' }],
      ['check', 'merge'],
      ['translate', 'merge'],
      ['merge', 'end'],
      ['research', 'log'],
      ['log', 'end'],
      ['apology', 'end'],
    ],
    migrate: { '0': at => (at.node === 'old' ? { node: 'draft', input: at.input } : undefined) },
  })
  expectTypeOf(draft.name).toEqualTypeOf<'email-draft'>()
  expectTypeOf<WorkflowInput<typeof draft>>().toEqualTypeOf<string>()
  expectTypeOf<WorkflowCallInput<typeof draft>>().toEqualTypeOf<{ readonly prompt: string }>()
  // The node `log` has no data, and its input is not an output.
  expectTypeOf<WorkflowOutput<typeof draft>>().toEqualTypeOf<{ all: string } | null | undefined>()
})

test('infers the input as the JSON of the schema output', () => {
  const dated = workflow({
    id: 'dated',
    inputSchema: z.object({ at: z.string().transform(at => new Date(at)), often: z.number().default(1) }),
    nodes: { first: ({ input }: NodeContext<{ at: string; often: number }>) => ({ data: [input.often, new Date()] }) },
    edges: [
      ['start', 'first'],
      ['first', 'end'],
    ],
  })
  expectTypeOf<WorkflowInput<typeof dated>>().toEqualTypeOf<{ at: string; often: number }>()
  expectTypeOf<WorkflowCallInput<typeof dated>>().toEqualTypeOf<{ at: string; often?: number | undefined }>()
  expectTypeOf<WorkflowOutput<typeof dated>>().toEqualTypeOf<(string | number)[]>()
})

test('passes the input on through nodes without data and loops, but not to the end', () => {
  const passing = workflow({
    id: 'passing',
    nodes: {
      one: anything,
      two: (): { condition?: 'back' } => ({}),
      three: { run: (_: NodeContext<string>) => ({}), onError: { continue: 'failed' } },
    },
    edges: [
      ['start', 'one'],
      ['one', 'two'],
      ['two', 'one', { when: 'back' }],
      ['two', 'three', { otherwise: true }],
      ['three', 'end'],
    ],
  })
  expectTypeOf<WorkflowOutput<typeof passing>>().toEqualTypeOf<'failed' | undefined>()
  const maybe = workflow({
    id: 'maybe',
    nodes: { one: ({ input }: NodeContext<string>) => (input === '' ? undefined : { data: input.length }) },
    edges: [
      ['start', 'one'],
      ['one', 'end'],
    ],
  })
  expectTypeOf<WorkflowOutput<typeof maybe>>().toEqualTypeOf<number | undefined>()
})

test('infers the input of an agent node from its prompt, and its data from its output or text', () => {
  const asking = workflow({
    id: 'asking',
    nodes: {
      talk: talker,
      research: { agent: researcher, prompt: (input: string) => `About ${input}` },
      say: { agent: talker, prompt: ({ facts }: { facts: string[] }) => facts.join(), title: 'Saying it' },
    },
    edges: [
      ['start', 'talk'],
      ['talk', 'research'],
      ['research', 'say'],
      ['say', 'end'],
    ],
  })
  expectTypeOf<WorkflowOutput<typeof asking>>().toEqualTypeOf<string>()
})

test('passes along an edge only the data that is returned with its condition', () => {
  const split = workflow({
    id: 'split',
    nodes: {
      ask: ({ input }: NodeContext<string>) => {
        if (input === '') return { condition: 'none', data: 0 }
        return input === 'x' ? { condition: 'one', data: input } : { condition: 'rest', data: [input] }
      },
      none: count,
      one: text,
      rest: ({ input }: NodeContext<string[]>) => ({ data: input }),
    },
    edges: [
      ['start', 'ask'],
      ['ask', 'none', { when: 'none' }],
      ['ask', 'one', { when: 'one' }],
      ['ask', 'rest', { otherwise: true }],
      ['none', 'end'],
      ['one', 'end'],
      ['rest', 'end'],
    ],
  })
  expectTypeOf<WorkflowOutput<typeof split>>().toEqualTypeOf<string | number | string[]>()
})

test('infers an unknown output if a node may transition, whose data passes along no edge', () => {
  const leaving = workflow({
    id: 'leaving',
    nodes: {
      sort: ({ input }: NodeContext<string>) =>
        input === 'off' ? { transitionTo: 'elsewhere', data: { far: true }, condition: 'gone' } : { data: input },
      say: text,
    },
    edges: [
      ['start', 'sort'],
      ['sort', 'say'],
      ['say', 'end'],
    ],
  })
  expectTypeOf<WorkflowOutput<typeof leaving>>().toBeUnknown()
  const declared = workflow({
    id: 'declared',
    nodes: { one: (_: NodeContext<string>): NodeResult<number> => ({ data: 1 }) },
    edges: [
      ['start', 'one'],
      ['one', 'end'],
    ],
  })
  expectTypeOf<WorkflowOutput<typeof declared>>().toBeUnknown()
})

test('requires an edge for each condition, except for transitions and conditions of type string', () => {
  const start = ['start', 'one'] as const
  const leaving = () => ({ transitionTo: 'elsewhere', condition: 'gone' }) as const
  const any = (): { condition: string } => ({ condition: 'a' })
  const two = (): { condition?: 'a' | 'b' } => ({})
  workflow({ id: 'w', nodes: { one: any }, edges: [start, ['one', 'end', { when: 'a' }]] })
  workflow({ id: 'w', nodes: { one: two }, edges: [start, ['one', 'end']] })
  workflow({ id: 'w', nodes: { one: two }, edges: [start, ['one', 'end', { otherwise: true }]] })
  workflow({ id: 'w', nodes: { one: leaving }, edges: [start, ['one', 'end', { when: 'gone' }]] })
  type EdgesOf<E extends readonly EdgeDefinition[]> = CheckedEdges<{ one: typeof two }, E, undefined>
  type Checked = EdgesOf<readonly [readonly ['start', 'one'], readonly ['one', 'end', { readonly when: 'a' }]]>
  // The compiler reports the problem at the edge.
  expectTypeOf<Checked[0]>().toBeUnknown()
  expectTypeOf<
    Checked[1][1]['problem']
  >().toEqualTypeOf<'one may return the condition b, but no edge has it: add an edge with when or otherwise'>()
})

test('infers the input of a join: the result of each branch by its first node', () => {
  const joined = workflow({
    id: 'joined',
    nodes: {
      go: text,
      left: { run: (_: NodeContext<string>) => ({ data: 1 }), onError: { route: 'fallback' } },
      further: ({ input }: NodeContext<number>) => ({ data: [input] }),
      fallback: ({ input }: NodeContext<NodeFailure>) => ({ data: input.code }),
      right: text,
      merge: anything,
      last: ({ input }: NodeContext<{ left: number[] | string; right: string }>) => ({ data: input }),
    },
    edges: [
      ['start', 'go'],
      ['go', ['left', 'right'], { join: 'merge' }],
      ['left', 'further'],
      ['further', 'merge'],
      ['fallback', 'merge'],
      ['right', 'merge'],
      ['merge', 'last'],
      ['last', 'end'],
    ],
  })
  expectTypeOf<WorkflowOutput<typeof joined>>().toEqualTypeOf<{ left: number[] | string; right: string }>()
})

test('infers params, context and onError.continue from the code', () => {
  workflow({
    id: 'params',
    nodes: {
      one: {
        run({ params, input, data, tokenUsage }: NodeContext<string, { readonly max: number }>) {
          expectTypeOf(params).toEqualTypeOf<{ readonly max: number }>()
          expectTypeOf(data).toEqualTypeOf<Json | undefined>()
          expectTypeOf(tokenUsage.inputTokens).toEqualTypeOf<number | undefined>()
          return { data: { tags: [input] } }
        },
        params: { max: 1 },
        onError: { continue: { tags: ['none'] } },
      },
      two: ({ input }: NodeContext<{ tags: string[] }>) => ({ data: input.tags }),
    },
    edges: [
      ['start', 'one'],
      ['one', 'two'],
      ['two', 'end'],
    ],
  })
})

test('rejects nodes and edges that do not fit at compile time', () => {
  // Invalid definitions may also throw, so this function is only compiled, not called.
  const define = () => {
    const start = ['start', 'one'] as const
    const end = ['one', 'end'] as const
    // @ts-expect-error one takes a number, the workflow starts with a text
    workflow({ id: 'w', nodes: { one: count }, edges: [['start', 'one'], end] })
    // @ts-expect-error two takes a number, one returns a text
    workflow({ id: 'w', nodes: { one: text, two: count }, edges: [start, ['one', 'two'], ['two', 'end']] })
    const number = () => ({ data: 1 })
    // @ts-expect-error an agent takes a text, one returns a number
    workflow({ id: 'w', nodes: { one: number, two: talker }, edges: [start, ['one', 'two'], ['two', 'end']] })
    // @ts-expect-error its prompt takes a number, the workflow starts with a text
    workflow({ id: 'w', nodes: { one: { agent: talker, prompt: (n: number) => `${n}` } }, edges: [start, end] })
    // @ts-expect-error one never returns the condition b
    workflow({ id: 'w', nodes: { one: () => ({ condition: 'a' }) }, edges: [start, ['one', 'end', { when: 'b' }]] })
    const both = (): { condition: 'a' | 'b' } => ({ condition: 'a' })
    // @ts-expect-error no edge has the condition b
    workflow({ id: 'w', nodes: { one: both }, edges: [start, ['one', 'end', { when: 'a' }]] })
    // @ts-expect-error an agent returns no condition
    workflow({ id: 'w', nodes: { one: talker }, edges: [start, ['one', 'end', { when: 'b' }]] })
    // @ts-expect-error one passes on its text, two takes a number
    workflow({ id: 'w', nodes: { one: anything, two: count }, edges: [start, ['one', 'two'], ['two', 'end']] })
    // @ts-expect-error the input needs a declared type
    workflow({ id: 'w', nodes: { one: ({ input }) => ({ data: input }) }, edges: [start, end] })
    // @ts-expect-error there is no node by this name
    workflow({ id: 'w', nodes: { one: text }, edges: [start, ['one', 'none'], end] })
    // @ts-expect-error there is no node by this name
    workflow({ id: 'w', nodes: { one: text }, edges: [start, ['none', 'one'], end] })
    // @ts-expect-error a condition must be a text
    workflow({ id: 'w', nodes: { one: text }, edges: [start, ['one', 'end', { when: 1 }]] })
    // @ts-expect-error the join m does not exist
    workflow({ id: 'w', nodes: { one: text, a: text, b: text }, edges: [start, ['one', ['a', 'b'], { join: 'm' }]] })
    workflow({
      id: 'w',
      nodes: { one: text, a: text, b: text, m: (_: NodeContext<{ a: string; b: number }>) => {} },
      // @ts-expect-error the join does not accept the results of its branches
      edges: [start, ['one', ['a', 'b'], { join: 'm' }], ['a', 'm'], ['b', 'm'], ['m', 'end']],
    })
    workflow({
      id: 'w',
      nodes: { one: text, a: text, b: count, m: anything },
      // @ts-expect-error the branch b takes a number, the fork gives a text
      edges: [start, ['one', ['a', 'b'], { join: 'm' }], ['a', 'm'], ['b', 'm'], ['m', 'end']],
    })
    const failing = { run: text, onError: { route: 'two' } } as const
    // @ts-expect-error two takes a text, onError routes a failure to it
    workflow({ id: 'w', nodes: { one: failing, two: text }, edges: [start, end, ['two', 'end']] })
    // @ts-expect-error onError routes to a node that does not exist
    workflow({ id: 'w', nodes: { one: failing }, edges: [start, end] })
    // @ts-expect-error onError.continue differs from the type of the data
    workflow({ id: 'w', nodes: { one: { run: text, onError: { continue: 1 } } }, edges: [start, end] })
    const limited = ({ input, params }: NodeContext<string, { max: number }>) => ({ data: input.slice(params.max) })
    // @ts-expect-error the code takes params of another type
    workflow({ id: 'w', nodes: { one: { run: limited, params: { max: '3' } } }, edges: [start, end] })
    // @ts-expect-error the code needs params
    workflow({ id: 'w', nodes: { one: limited }, edges: [start, end] })
    // @ts-expect-error a number is not a node result
    workflow({ id: 'w', nodes: { one: () => 1 }, edges: [start, end] })
    // @ts-expect-error ui.message must be a text
    workflow({ id: 'w', nodes: { one: () => ({ ui: { message: 1 } }) }, edges: [start, end] })
    // @ts-expect-error budget has no option cost
    workflow({ id: 'w', nodes: { one: text }, edges: [start, end], budget: { cost: 1 } })
    const base = { id: 'w', nodes: { one: text }, edges: [start, end] } as const
    // @ts-expect-error runs must continue at an existing node
    workflow({ ...base, migrate: { '0': () => ({ node: 'two', input: 1 }) } })
    // The workflow without a mistake.
    workflow({ ...base, migrate: { '0': () => ({ node: 'one', input: 1 }) } })
  }
  expectTypeOf(define).toBeFunction()
})
