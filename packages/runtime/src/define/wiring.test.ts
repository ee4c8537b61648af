import { describe, expect, test } from 'vitest'
import { go, ofEdges, talker, told } from './definition.fixture.ts'
import { workflow } from './workflow.ts'

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
