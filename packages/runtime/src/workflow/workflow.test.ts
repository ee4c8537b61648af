import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/agent.ts'
import { DEFAULT_BUDGET } from '../agent/budget.ts'
import { ValidationError } from '../error/error.ts'
import { scriptedModel } from '../model/scripted.ts'
import type { NodeContext, NodeFailure } from './node.ts'
import { workflow } from './workflow.ts'

const talker = agent({ name: 'talker', model: scriptedModel([]) })
const go = () => {}

describe('a workflow', () => {
  const input = z.object({ tone: z.string() })
  const when = (error: unknown) => error instanceof TypeError
  const draft = ({ input: { tone } }: NodeContext<{ tone: string }, { max: number }>) => ({ data: tone })
  const prompt = (text: string) => `About ${text}`
  const migration = () => undefined
  const params = { max: 3 }
  const made = workflow({
    id: 'email-draft',
    version: '2',
    input,
    nodes: {
      draft: { run: draft, params, title: 'Writing', retry: { attempts: 3, when }, onError: { route: 'apology' } },
      talk: talker,
      again: { agent: talker, prompt, retry: { attempts: 1, backoff: { first: 5 } }, onError: { continue: 'nothing' } },
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
    budget: { time: 1000 },
    migrate: { '1': migration },
  })

  test('has a name, a program, bounds and migrations', () => {
    expect(made).toMatchObject({
      kind: 'workflow',
      name: 'email-draft',
      version: '2',
      program: 'workflow:email-draft@2',
    })
    expect(made.budget).toEqual({ ...DEFAULT_BUDGET, steps: 7, time: 1000 })
    expect([...made.migrations]).toEqual([['1', migration]])
    expect(made.input?.schema).toBe(input)
    expect(made.input?.jsonSchema).toMatchObject({ type: 'object', required: ['tone'] })
  })

  test('has nodes with all that was not said', () => {
    const nodes = [...made.nodes.values()]
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
    expect(again?.retry).toMatchObject({ attempts: 1, backoff: { first: 5 } })
    expect(again?.retry?.when(new Error('any'))).toBe(true)
    expect(apology).toMatchObject({ run: expect.any(Function), params: undefined })
  })

  test('tells an agent a text as it is, and anything else as JSON', () => {
    const talk = made.nodes.get('talk')
    expect(talk?.agent && talk.prompt('Hello')).toBe('Hello')
    expect(talk?.agent && talk.prompt({ a: 1 })).toBe('{"a":1}')
  })

  test('needs little', () => {
    const least = workflow({
      id: 'least',
      nodes: { go },
      edges: [
        ['start', 'go'],
        ['go', 'end'],
      ],
    })
    expect(least).toMatchObject({ program: 'workflow:least@1', input: undefined, budget: DEFAULT_BUDGET })
    expect(least.migrations.size).toBe(0)
  })

  test('needs no JSON Schema of its input, and takes one that is given', () => {
    const given = (more: object) =>
      workflow({
        id: 'w',
        input: v.string(),
        nodes: { go },
        edges: [
          ['start', 'go'],
          ['go', 'end'],
        ],
        ...more,
      })
    expect(given({}).input).toMatchObject({ jsonSchema: undefined })
    expect(given({ jsonSchema: { type: 'string' } }).input).toMatchObject({ jsonSchema: { type: 'string' } })
  })

  test('keeps what it continues with as JSON', () => {
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

/** What is told of a definition that the compiler would refuse, or cannot judge. */
function told(definition: object): string {
  try {
    workflow({ id: 'w', ...definition } as unknown as Parameters<typeof workflow>[0])
  } catch (error) {
    expect(error).toBeInstanceOf(ValidationError)
    return (error as Error).message
  }
  throw new Error('it was taken')
}

const one = [
  ['start', 'one'],
  ['one', 'end'],
]

const ofNode = (node: unknown) => told({ nodes: { one: node }, edges: one })

/** What is told of edges between nodes that do nothing. */
const ofEdges = (names: string, ...edges: unknown[]) =>
  told({ nodes: Object.fromEntries(names.split(' ').map(name => [name, go])), edges })

describe('what could not run is refused where it is defined', () => {
  test.each<[string, object]>([
    ['workflow an object: id: expected 1 to 64 letters, digits, _, . and -, found an object', { id: {} }],
    ['workflow a b: id: expected 1 to 64 letters, digits, _, . and -, found "a b"', { id: 'a b' }],
    ['workflow w: version: expected 1 to 64 letters, digits, _, . and -, found "1@2"', { version: '1@2' }],
    ['workflow w: nodes: expected an object, found undefined', { nodes: undefined }],
    ['workflow w: nodes: there are none: a workflow has one or more', { nodes: {} }],
    ['workflow w: node a.b: its id: expected 1 to 64 letters, digits, _ and -', { nodes: { 'a.b': go } }],
    ["workflow w: node end: its id: 'start' and 'end' are no nodes: choose another", { nodes: { end: go } }],
    [
      'workflow w: node constructor: its id: every object has a field by that name: choose another',
      { nodes: { constructor: go } },
    ],
    ['workflow w: edges: expected an array, found an object', { edges: {} }],
    ['workflow w: budget: steps: expected a number above 0, found 0', { maxSteps: 0 }],
    ['workflow w: budget: expected steps, tokens and time, found cost', { budget: { cost: 1 } }],
    ['workflow w: migrate: expected an object, found an array', { migrate: [] }],
    ['workflow w: migrate.0: expected a function, found a string', { migrate: { 0: 'draft' } }],
    ['workflow w: migrate.1: this is version 1 itself: name those that came before it', { migrate: { 1: go } }],
    ['workflow w: migrate: expected 1 to 64 letters, digits, _, . and -, found "a b"', { migrate: { 'a b': go } }],
    [
      'workflow w: input: expected a Standard Schema, such as one of zod, valibot or arktype',
      { input: { type: 'string' } },
    ],
    ['workflow w: jsonSchema: there is no input that it could be of', { jsonSchema: { type: 'string' } }],
  ])('%s', (message, more) => {
    expect(told({ nodes: { one: go }, edges: one, ...more })).toBe(message)
  })

  test('a workflow that is none', () => {
    expect(() => workflow(undefined as never)).toThrow('workflow: expected an object, found undefined')
  })

  test.each<[string, unknown]>([
    ['expected a function, an agent, or an object with run or agent, found a string', 'go'],
    ['expected run or agent, found both', { run: go, agent: talker }],
    ['run: expected a function, found undefined', {}],
    ['agent: expected what agent() gives, found an object', { agent: {} }],
    ['prompt: expected a function, found "x"', { agent: talker, prompt: 'x' }],
    ['expected agent, prompt, title, retry, onError, found "params"', { agent: talker, params: 1 }],
    ['expected run, params, title, retry, onError, found "onerror"', { run: go, onerror: 'stop' }],
    ['title: expected a text, found ""', { run: go, title: '' }],
    ['retry: expected an object with attempts, found a number', { run: go, retry: 3 }],
    ['retry.attempts: expected a whole number from 1 on, found 0', { run: go, retry: { attempts: 0 } }],
    ['retry.attempts: expected a whole number from 1 on, found undefined', { run: go, retry: {} }],
    ['retry.when: expected a function, found true', { run: go, retry: { attempts: 1, when: true } }],
    [
      'retry.backoff: expected first, longest, found "firstMs"',
      { run: go, retry: { attempts: 1, backoff: { firstMs: 1 } } },
    ],
    [
      'retry.backoff.longest: expected milliseconds from 0 on, found Infinity',
      { run: go, retry: { attempts: 1, backoff: { longest: Number.POSITIVE_INFINITY } } },
    ],
    ["onError: expected 'stop', { continue: data } or { route: 'node' }, found \"go\"", { run: go, onError: 'go' }],
    ["onError: expected 'stop', { continue: data } or { route: 'node' }, found neither", { run: go, onError: {} }],
    [
      "onError: expected 'stop', { continue: data } or { route: 'node' }, found both",
      { run: go, onError: { route: 'a', continue: 1 } },
    ],
    ["onError.route: expected a node's id, found 1", { run: go, onError: { route: 1 } }],
    ['onError.continue: expected what JSON can say, found a function', { run: go, onError: { continue: go } }],
    ['onError.continue: expected what JSON can say', { run: go, onError: { continue: 1n } }],
    ['onError: there is no node two to route to: add it to nodes', { run: go, onError: { route: 'two' } }],
    ['onError: it routes to itself: say how often it runs again by retry', { run: go, onError: { route: 'one' } }],
  ])('node one: %s', (message, node) => {
    expect(ofNode(node)).toBe(`workflow w: node one: ${message}`)
  })

  test('a workflow as a node', () => {
    const other = workflow({
      id: 'other',
      nodes: { go },
      edges: [
        ['start', 'go'],
        ['go', 'end'],
      ],
    })
    expect(ofNode(other)).toMatch('node one: a workflow is no node: return its id as transitionTo')
  })

  test.each<[string, unknown]>([
    ['expected [from, to] or [from, to, options], found a string', 'a -> b'],
    ['expected [from, to] or [from, to, options], found an array', ['one']],
    ["from: expected a node's id or 'start', found 1", [1, 'one']],
    ["to: expected a node's id, a list of them, or 'end', found undefined", ['one', undefined]],
    ["to: expected nodes' ids, found 2", ['one', ['one', 2]]],
    ['expected options that are an object, found a string', ['one', 'end', 'clear']],
    ['expected when, otherwise, max, found "if"', ['one', 'end', { if: 'clear' }]],
    ['when: expected a condition, found " "', ['one', 'end', { when: ' ' }]],
    ['otherwise: expected true, or nothing, found false', ['one', 'end', { otherwise: false }]],
    [
      'found when beside otherwise: an edge is for one condition, or for what no other fits',
      ['one', 'end', { when: 'a', otherwise: true }],
    ],
    ['max: expected a whole number from 1 on, found 1.5', ['one', 'one', { when: 'a', max: 1.5 }]],
    [
      "join: only a fork has one: list its branches, as in ['a', ['b', 'c'], { join: 'd' }]",
      ['one', 'one', { join: 'a' }],
    ],
    ['max: a fork has none: say it of the edge that leads to the fork', ['one', ['a', 'b'], { join: 'one', max: 1 }]],
    ['a fork has two branches or more: write one as an edge to the node itself', ['one', ['a'], { join: 'one' }]],
    ['a fork names each of its branches once', ['one', ['a', 'a'], { join: 'one' }]],
    ["a fork says where its branches meet again: add { join: 'node' }", ['one', ['a', 'b']]],
    ["a fork says where its branches meet again: add { join: 'node' }", ['one', ['a', 'b'], { when: 'x' }]],
    ["join: expected a node's id, found 1", ['one', ['a', 'b'], { join: 1 }]],
  ])('edges.0: %s', (message, edge) => {
    expect(ofEdges('one', edge)).toBe(`workflow w: edges.0: ${message}`)
  })
})

describe('edges that lead nowhere, or two ways at once, are refused', () => {
  const S = ['start', 'a']
  const E = ['a', 'end']

  test.each<[string, string, unknown[]]>([
    ["edge end -> a: nothing comes after 'end': lead it from a node", 'a', [S, ['end', 'a']]],
    ['edge b -> a: there is no node b: add it to nodes, or take the edge away', 'a', [S, ['b', 'a']]],
    ['edge a -> b: there is no node b: add it to nodes, or lead the edge elsewhere', 'a', [S, ['a', 'b']]],
    [
      'edge a -> toString: there is no node toString: add it to nodes, or lead the edge elsewhere',
      'a',
      [S, ['a', 'toString']],
    ],
    ["edge a -> start: no edge leads back to 'start': lead it to the first node", 'a', [S, ['a', 'start']]],
    [
      "edge a -> end: max: an edge to 'end' is taken once: take max away",
      'a',
      [S, ['a', 'end', { when: 'x', max: 1 }]],
    ],
    ["edges: there is none from 'start': add ['start', 'node'] for the first node", 'a', [E]],
    ["edges: there are two from 'start', to a and to b: a run begins with one node", 'a b', [S, ['start', 'b'], E]],
    [
      'edge start -> [a, b]: a run begins with one node: fork after it',
      'a b c',
      [['start', ['a', 'b'], { join: 'c' }]],
    ],
    ['edge start -> end: a run begins with a node', 'a', [['start', 'end'], E]],
    ["edge start -> a: an edge from 'start' has no options", 'a', [['start', 'a', { otherwise: true }], E]],
    ["node b: it has no edge on: add ['b', 'end']", 'a b', [S, ['a', 'b']]],
    ['node b: no run can come to it: lead an edge to it, or take it away', 'a b', [S, E, ['b', 'end']]],
    [
      "node a: there are two edges without a condition, to b and to end: say when each is taken, or fork, as in ['a', ['b', 'end'], { join: 'node' }]",
      'a b',
      [S, ['a', 'b'], E, ['b', 'end']],
    ],
    [
      'node a: there are two edges for the condition "x": keep one',
      'a b',
      [S, ['a', 'b', { when: 'x' }], ['a', 'end', { when: 'x' }], ['b', 'end']],
    ],
    [
      'node a: its edge to end stands beside edges with conditions: add { otherwise: true } to it',
      'a b',
      [S, ['a', 'b', { when: 'x' }], E, ['b', 'end']],
    ],
  ])('%s', (message, names, edges) => {
    expect(ofEdges(names, ...edges)).toBe(`workflow w: ${message}`)
  })

  test('a condition that an agent never returns', () => {
    const edges = [S, ['a', 'end', { when: 'x' }]]
    expect(told({ nodes: { a: talker }, edges })).toBe(
      'workflow w: node a: an agent returns no condition, and the edge for "x" is never taken: decide in a node after it',
    )
  })

  test('a node that continues without a condition, where each edge is for one', () => {
    const a = { run: go, onError: { continue: 1 } }
    expect(told({ nodes: { a }, edges: [S, ['a', 'end', { when: 'x' }]] })).toBe(
      'workflow w: node a: onError: it continues without a condition, and each of its edges is for one: add an edge with { otherwise: true }',
    )
  })

  test('a node that only an error leads to is reached', () => {
    const nodes = { a: { run: go, onError: { route: 'b' } }, b: go } as const
    expect(
      workflow({
        id: 'w',
        nodes,
        edges: [
          ['start', 'a'],
          ['a', 'end'],
          ['b', 'end'],
        ],
      }).nodes.size,
    ).toBe(2)
  })
})

describe('branches that are not apart are refused', () => {
  const fork = [
    ['start', 'a'],
    ['a', ['b', 'c'], { join: 'd' }],
    ['d', 'end'],
  ]
  const meet = [
    ['b', 'd'],
    ['c', 'd'],
  ]

  test.each<[string, string, unknown[]]>([
    [
      'there is no node d to join at: add it to nodes',
      'a b c',
      [
        ['start', 'a'],
        ['a', ['b', 'c'], { join: 'd' }],
        ['b', 'end'],
        ['c', 'end'],
      ],
    ],
    [
      'b is a branch and the join: give the join a node of its own',
      'a b c',
      [
        ['start', 'a'],
        ['a', ['b', 'c'], { join: 'b' }],
        ['b', 'end'],
        ['c', 'b'],
      ],
    ],
    ["the branch b reaches 'end' before the join d: lead it to d", 'a b c d', [...fork, ['b', 'end'], ['c', 'd']]],
    ['the branch c leads back to a before the join d: lead it to d', 'a b c d', [...fork, ['b', 'd'], ['c', 'a']]],
    [
      'the branches b and c share the node e: each needs nodes of its own until d',
      'a b c d e',
      [...fork, ['b', 'e'], ['c', 'e'], ['e', 'd']],
    ],
    ['the branch c never comes to the join d: add an edge to it', 'a b c d', [...fork, ['b', 'd'], ['c', 'c']]],
    [
      'the join d is also reached from e, which is in none of its branches: give that a node of its own',
      'a b c d e',
      [
        ['start', 'a'],
        ['a', ['b', 'c'], { join: 'd' }],
        ...meet,
        ['d', 'e'],
        ['e', 'd', { when: 'x' }],
        ['e', 'end', { otherwise: true }],
      ],
    ],
    [
      'b, in the branch b, is also reached from d: a branch is entered by its head and left by its join alone',
      'a b c d',
      [
        ['start', 'a'],
        ['a', ['b', 'c'], { join: 'd' }],
        ...meet,
        ['d', 'b', { when: 'x' }],
        ['d', 'end', { otherwise: true }],
      ],
    ],
    [
      'b, in the branch b, is also reached from a: a branch is entered by its head and left by its join alone',
      'a b c d',
      [
        ['start', 'a'],
        ['a', ['b', 'c'], { join: 'd', when: 'both' }],
        ['a', 'b', { otherwise: true }],
        ...meet,
        ['d', 'end'],
      ],
    ],
  ])('%s', (message, names, edges) => {
    expect(ofEdges(names, ...edges)).toBe(`workflow w: edge a -> [b, c]: ${message}`)
  })

  const routed = { run: go, onError: { route: 'e' } }

  test('a route of errors out of a branch', () => {
    const nodes = { a: go, b: routed, c: go, d: go, e: go }
    expect(told({ nodes, edges: [...fork, ...meet, ['e', 'end']] })).toBe(
      "workflow w: edge a -> [b, c]: the branch b reaches 'end' before the join d, by the route of errors of b, which leads out of the branch: lead it to d",
    )
    expect(told({ nodes: { ...nodes, c: routed }, edges: [...fork, ...meet, ['e', 'd']] })).toMatch(
      'the branches b and c share the node e, by the route of errors of c',
    )
  })

  test('a route of errors into a branch, or to its join', () => {
    const edges = [...fork, ...meet]
    expect(told({ nodes: { a: go, b: go, c: go, d: { run: go, onError: { route: 'b' } } }, edges })).toMatch(
      'b, in the branch b, is also reached from d',
    )
    expect(told({ nodes: { a: go, b: { run: go, onError: { route: 'd' } }, c: go, d: go }, edges })).toMatch(
      'errors of b are routed to the join d, which takes what the branches give: route them to a node before it',
    )
  })

  test('branches with loops, nodes of their own, routes of their own and forks of their own are taken', () => {
    const taken = workflow({
      id: 'nested',
      nodes: {
        a: go,
        b: { run: (): { condition?: 'again' } => ({}), onError: { route: 'e' } },
        c: go,
        c1: go,
        c2: go,
        met: go,
        d: go,
        e: go,
      },
      edges: [
        ['start', 'a'],
        ['a', ['b', 'c'], { join: 'd' }],
        ['b', 'b', { when: 'again', max: 2 }],
        ['b', 'd', { otherwise: true }],
        ['e', 'd'],
        ['c', ['c1', 'c2'], { join: 'met' }],
        ['c1', 'met'],
        ['c2', 'met'],
        ['met', 'd'],
        ['d', 'end'],
      ],
    })
    expect(taken.graph.next('c', undefined)).toEqual({ fork: ['c1', 'c2'], join: 'met', edge: 'c->c1+c2' })
  })

  test('a branch of a fork in a branch that goes past its own join', () => {
    const edges = [...fork, ['b', 'd'], ['c', ['e', 'f'], { join: 'g' }], ['e', 'd'], ['f', 'g'], ['g', 'd']]
    expect(ofEdges('a b c d e f g', ...edges)).toBe(
      "workflow w: edge c -> [e, f]: the branch e reaches 'end' before the join g: lead it to g",
    )
  })
})
