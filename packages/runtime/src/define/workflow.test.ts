import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { DEFAULT_BUDGET } from './budget.ts'
import { go, talker } from './definition.fixture.ts'
import type { NodeContext, NodeFailure } from './node.ts'
import { workflow } from './workflow.ts'

describe('workflow()', () => {
  const input = z.object({ tone: z.string() })
  const when = (error: unknown) => error instanceof TypeError
  const draft = ({ input: { tone } }: NodeContext<{ tone: string }, { max: number }>) => ({ data: tone })
  const prompt = (text: string) => `About ${text}`
  const migration = () => undefined
  const params = { max: 3 }
  const emailWorkflow = workflow({
    id: 'email-draft',
    version: '2',
    inputSchema: input,
    nodes: {
      draft: { run: draft, params, title: 'Writing', retry: { attempts: 3, when }, onError: { route: 'apology' } },
      talk: talker,
      again: {
        agent: talker,
        prompt,
        retry: { attempts: 1, backoff: { firstMs: 5 } },
        onError: { continue: 'nothing' },
      },
      apology: ({ input: { message } }: NodeContext<NodeFailure>) => ({ ui: { message } }),
    },
    edges: [
      ['start', 'draft'],
      ['draft', 'talk'],
      ['talk', 'again'],
      ['again', 'end'],
      ['apology', 'end'],
    ],
    maxSteps: 7,
    budget: { timeMs: 1000 },
    migrate: { '1': migration },
  })

  test('returns name, program, limits, migrations and schemas', () => {
    expect(emailWorkflow).toMatchObject({
      kind: 'workflow',
      name: 'email-draft',
      version: '2',
      program: 'workflow:email-draft@2',
    })
    expect(emailWorkflow.budget).toEqual({ ...DEFAULT_BUDGET, steps: 7, timeMs: 1000 })
    expect([...emailWorkflow.migrations]).toEqual([['1', migration]])
    expect(emailWorkflow.inputSchema).toBe(input)
    expect(emailWorkflow.jsonSchema).toMatchObject({ type: 'object', required: ['tone'] })
  })

  test('normalizes nodes with defaults', () => {
    const nodes = [...emailWorkflow.nodes.values()]
    expect(nodes.map(({ id, title }) => [id, title])).toEqual([
      ['draft', 'Writing'],
      ['talk', 'talk'],
      ['again', 'again'],
      ['apology', 'apology'],
    ])
    const [first, talk, again, apology] = nodes
    expect(first).toMatchObject({ run: draft, params, retry: { attempts: 3, backoff: {}, when } })
    expect(first?.onError).toEqual({ mode: 'route', to: 'apology' })
    expect(talk).toMatchObject({ agent: talker, retry: undefined, onError: { mode: 'stop' } })
    expect(again).toMatchObject({ agent: talker, prompt, onError: { mode: 'continue', data: 'nothing' } })
    expect(again?.retry).toMatchObject({ attempts: 1, backoff: { firstMs: 5 } })
    expect(again?.retry?.when(new Error('any'))).toBe(true)
    expect(apology).toMatchObject({ run: expect.any(Function), params: undefined })
  })

  test('passes a string to an agent unchanged, and any other value as JSON', () => {
    const talk = emailWorkflow.nodes.get('talk')
    expect(talk?.agent && talk.prompt('Hello')).toBe('Hello')
    expect(talk?.agent && talk.prompt({ a: 1 })).toBe('{"a":1}')
  })

  test('requires only nodes and edges', () => {
    const least = workflow({
      id: 'least',
      nodes: { go },
      edges: [
        ['start', 'go'],
        ['go', 'end'],
      ],
    })
    expect(least).toMatchObject({ program: 'workflow:least@1', inputSchema: undefined, budget: DEFAULT_BUDGET })
    expect(least.migrations.size).toBe(0)
  })

  test('accepts an inputSchema without a JSON Schema, and uses jsonSchema if it is set', () => {
    const workflowWith = (more: object) =>
      workflow({
        id: 'w',
        inputSchema: v.string(),
        nodes: { go },
        edges: [
          ['start', 'go'],
          ['go', 'end'],
        ],
        ...more,
      })
    expect(workflowWith({}).jsonSchema).toBeUndefined()
    expect(workflowWith({ jsonSchema: { type: 'string' } }).jsonSchema).toEqual({ type: 'string' })
  })

  test('stores the data of onError.continue as JSON', () => {
    const one = { run: () => ({ data: { at: new Date() } }), onError: { continue: { at: new Date(0) } } } as const
    const kept = workflow({
      id: 'w',
      nodes: { one },
      edges: [
        ['start', 'one'],
        ['one', 'end'],
      ],
    })
    expect(kept.nodes.get('one')?.onError).toEqual({ mode: 'continue', data: { at: '1970-01-01T00:00:00.000Z' } })
  })
})
