import { describe, expect, test } from 'vitest'
import { definitionError, edgesError, go, talker } from './definition.fixture.ts'
import { workflow } from './workflow.ts'

describe('rejects missing, dangling and ambiguous edges with the message', () => {
  const S = ['start', 'a']
  const E = ['a', 'end']

  test.each<[string, string, unknown[]]>([
    ["edge end -> a: an edge cannot start at 'end': start it at a node", 'a', [S, ['end', 'a']]],
    ['edge b -> a: there is no node b: add it to nodes, or remove the edge', 'a', [S, ['b', 'a']]],
    ['edge a -> b: there is no node b: add it to nodes, or change the edge', 'a', [S, ['a', 'b']]],
    ['edge a -> toString: there is no node toString: add it to nodes, or change the edge', 'a', [S, ['a', 'toString']]],
    ["edge a -> start: an edge cannot lead to 'start': lead it to the first node", 'a', [S, ['a', 'start']]],
    ["edge a -> end: max: an edge to 'end' is taken once: remove max", 'a', [S, ['a', 'end', { when: 'x', max: 1 }]]],
    ["edges: no edge starts at 'start': add ['start', 'node'] for the first node", 'a', [E]],
    [
      "edges: two edges start at 'start', to a and to b: keep one, a run begins with one node",
      'a b',
      [S, ['start', 'b'], E],
    ],
    [
      'edge start -> [a, b]: a run begins with one node: fork after it',
      'a b c',
      [['start', ['a', 'b'], { join: 'c' }]],
    ],
    ['edge start -> end: a run begins with a node: lead the edge to one', 'a', [['start', 'end'], E]],
    [
      "edge start -> a: an edge from 'start' has no options: remove when, otherwise and max",
      'a',
      [['start', 'a', { otherwise: true }], E],
    ],
    ["node b: it has no outgoing edge: add ['b', 'end']", 'a b', [S, ['a', 'b']]],
    ['node b: it is unreachable: add an edge to it, or remove it', 'a b', [S, E, ['b', 'end']]],
    [
      "node a: there are two edges without a condition, to b and to end: add conditions, or fork, as in ['a', ['b', 'end'], { join: 'node' }]",
      'a b',
      [S, ['a', 'b'], E, ['b', 'end']],
    ],
    [
      'node a: there are two edges for the condition "x": keep one',
      'a b',
      [S, ['a', 'b', { when: 'x' }], ['a', 'end', { when: 'x' }], ['b', 'end']],
    ],
    [
      'node a: its edge to end has no condition, but other edges have one: add { otherwise: true } to it',
      'a b',
      [S, ['a', 'b', { when: 'x' }], E, ['b', 'end']],
    ],
  ])('%s', (message, names, edges) => {
    expect(edgesError(names, ...edges)).toBe(`workflow w: ${message}`)
  })

  test('rejects a condition on an edge of an agent', () => {
    const edges = [S, ['a', 'end', { when: 'x' }]]
    expect(definitionError({ nodes: { a: talker }, edges })).toBe(
      'workflow w: node a: an agent returns no condition, so the edge for "x" is never taken: decide in a node after it',
    )
  })

  test('rejects onError.continue on a node whose edges all have conditions', () => {
    const a = { run: go, onError: { continue: 1 } }
    expect(definitionError({ nodes: { a }, edges: [S, ['a', 'end', { when: 'x' }]] })).toBe(
      'workflow w: node a: onError: it continues without a condition, but every edge has one: add an edge with { otherwise: true }',
    )
  })

  test('counts a node as reachable by an error route alone', () => {
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

describe('rejects branches that are not disjoint with the message', () => {
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
      'b is both a branch and the join: use another node as the join',
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
    ['the branch c never reaches the join d: add an edge to it', 'a b c d', [...fork, ['b', 'd'], ['c', 'c']]],
    [
      'the join d is also reached from e, which is in none of its branches: lead that edge to another node',
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
      'b, in the branch b, is also reached from d: a branch is entered only at its first node and left only at its join',
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
      'b, in the branch b, is also reached from a: a branch is entered only at its first node and left only at its join',
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
    expect(edgesError(names, ...edges)).toBe(`workflow w: edge a -> [b, c]: ${message}`)
  })

  const routed = { run: go, onError: { route: 'e' } }

  test('rejects an error route out of a branch', () => {
    const nodes = { a: go, b: routed, c: go, d: go, e: go }
    expect(definitionError({ nodes, edges: [...fork, ...meet, ['e', 'end']] })).toBe(
      "workflow w: edge a -> [b, c]: the branch b reaches 'end' before the join d, by the error route of b, which leaves the branch: lead it to d",
    )
    expect(definitionError({ nodes: { ...nodes, c: routed }, edges: [...fork, ...meet, ['e', 'd']] })).toMatch(
      'the branches b and c share the node e, by the error route of c',
    )
  })

  test('rejects an error route into a branch or to its join', () => {
    const edges = [...fork, ...meet]
    expect(definitionError({ nodes: { a: go, b: go, c: go, d: { run: go, onError: { route: 'b' } } }, edges })).toMatch(
      'b, in the branch b, is also reached from d',
    )
    expect(definitionError({ nodes: { a: go, b: { run: go, onError: { route: 'd' } }, c: go, d: go }, edges })).toMatch(
      'errors of b are routed to the join d, which receives the results of the branches: route them to a node before it',
    )
  })

  test('accepts loops, error routes and forks within a branch', () => {
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

  test('rejects a nested branch that skips its own join', () => {
    const edges = [...fork, ['b', 'd'], ['c', ['e', 'f'], { join: 'g' }], ['e', 'd'], ['f', 'g'], ['g', 'd']]
    expect(edgesError('a b c d e f g', ...edges)).toBe(
      "workflow w: edge c -> [e, f]: the branch e reaches 'end' before the join g: lead it to g",
    )
  })
})
