import { describe, expect, test } from 'vitest'
import { definitionError, edgesError, go, talker } from './definition.fixture.ts'
import { workflow } from './workflow.ts'

const one = [
  ['start', 'one'],
  ['one', 'end'],
]

const nodeError = (node: unknown) => definitionError({ nodes: { one: node }, edges: one })

describe('workflow() rejects an invalid definition with the message', () => {
  test.each<[string, object]>([
    ['workflow an object: id: expected 1 to 64 letters, digits, _, . and -, found an object', { id: {} }],
    ['workflow a b: id: expected 1 to 64 letters, digits, _, . and -, found "a b"', { id: 'a b' }],
    ['workflow w: version: expected 1 to 64 letters, digits, _, . and -, found "1@2"', { version: '1@2' }],
    ['workflow w: nodes: expected an object, found undefined', { nodes: undefined }],
    ['workflow w: nodes: expected at least one node', { nodes: {} }],
    ['workflow w: node a.b: its id: expected 1 to 64 letters, digits, _ and -', { nodes: { 'a.b': go } }],
    ["workflow w: node end: its id: 'start' and 'end' are reserved: choose another", { nodes: { end: go } }],
    [
      'workflow w: node constructor: its id: every object inherits a field with this name: choose another',
      { nodes: { constructor: go } },
    ],
    ['workflow w: edges: expected an array, found an object', { edges: {} }],
    ['workflow w: budget: steps: expected a number above 0, found 0', { maxSteps: 0 }],
    ['workflow w: budget: expected steps, tokens, bytes and timeMs, found cost', { budget: { cost: 1 } }],
    ['workflow w: migrate: expected an object, found an array', { migrate: [] }],
    ['workflow w: migrate.0: expected a function, found a string', { migrate: { 0: 'draft' } }],
    ['workflow w: migrate.1: this is version 1 itself: list only earlier versions', { migrate: { 1: go } }],
    ['workflow w: migrate: expected 1 to 64 letters, digits, _, . and -, found "a b"', { migrate: { 'a b': go } }],
    [
      'workflow w: inputSchema: expected a Standard Schema, such as one of zod, valibot or arktype',
      { inputSchema: { type: 'string' } },
    ],
    [
      'workflow w: expected only id, version, inputSchema, jsonSchema, nodes, edges, maxSteps, budget, migrate, found "input"',
      { input: {} },
    ],
    ['workflow w: jsonSchema: expected inputSchema too, found none: set it', { jsonSchema: { type: 'string' } }],
  ])('%s', (message, more) => {
    expect(definitionError({ nodes: { one: go }, edges: one, ...more })).toBe(message)
  })

  test('rejects a definition that is not an object', () => {
    expect(() => workflow(undefined as never)).toThrow('workflow: expected an object, found undefined')
  })

  test.each<[string, unknown]>([
    ['expected a function, an agent, or an object with run or agent, found a string', 'go'],
    ['expected run or agent, found both', { run: go, agent: talker }],
    ['run: expected a function, found undefined', {}],
    ['agent: expected the result of agent(), found an object', { agent: {} }],
    ['prompt: expected a function, found "x"', { agent: talker, prompt: 'x' }],
    ['expected only agent, prompt, title, retry, onError, found "params"', { agent: talker, params: 1 }],
    ['expected only run, params, title, retry, onError, found "onerror"', { run: go, onerror: 'stop' }],
    ['title: expected a text, found ""', { run: go, title: '' }],
    ['retry: expected an object with attempts, found a number', { run: go, retry: 3 }],
    ['retry.attempts: expected a whole number of at least 1, found 0', { run: go, retry: { attempts: 0 } }],
    ['retry.attempts: expected a whole number of at least 1, found undefined', { run: go, retry: {} }],
    ['retry.when: expected a function, found true', { run: go, retry: { attempts: 1, when: true } }],
    [
      'retry.backoff: expected only firstMs, longestMs, found "first"',
      { run: go, retry: { attempts: 1, backoff: { first: 1 } } },
    ],
    [
      'retry.backoff.longestMs: expected milliseconds of at least 0, found Infinity',
      { run: go, retry: { attempts: 1, backoff: { longestMs: Number.POSITIVE_INFINITY } } },
    ],
    ["onError: expected 'stop', { continue: data } or { route: 'node' }, found \"go\"", { run: go, onError: 'go' }],
    ["onError: expected 'stop', { continue: data } or { route: 'node' }, found neither", { run: go, onError: {} }],
    [
      "onError: expected 'stop', { continue: data } or { route: 'node' }, found both",
      { run: go, onError: { route: 'a', continue: 1 } },
    ],
    ["onError.route: expected a node's id, found 1", { run: go, onError: { route: 1 } }],
    ['onError.continue: expected a JSON value, found a function', { run: go, onError: { continue: go } }],
    ['onError.continue: expected a JSON value', { run: go, onError: { continue: 1n } }],
    ['onError: there is no node two to route to: add it to nodes', { run: go, onError: { route: 'two' } }],
    ['onError: it routes to itself: use retry instead', { run: go, onError: { route: 'one' } }],
  ])('node one: %s', (message, node) => {
    expect(nodeError(node)).toBe(`workflow w: node one: ${message}`)
  })

  test('rejects a workflow as a node', () => {
    const other = workflow({
      id: 'other',
      nodes: { go },
      edges: [
        ['start', 'go'],
        ['go', 'end'],
      ],
    })
    expect(nodeError(other)).toMatch('node one: a workflow cannot be a node: return its id as transitionTo')
  })

  test.each<[string, unknown]>([
    ['expected [from, to] or [from, to, options], found a string', 'a -> b'],
    ['expected [from, to] or [from, to, options], found an array', ['one']],
    ["from: expected a node's id or 'start', found 1", [1, 'one']],
    ["to: expected a node's id, a list of them, or 'end', found undefined", ['one', undefined]],
    ["to: expected nodes' ids, found 2", ['one', ['one', 2]]],
    ['options: expected an object, found a string', ['one', 'end', 'clear']],
    ['expected only when, otherwise, max, found "if"', ['one', 'end', { if: 'clear' }]],
    ['when: expected a condition, found " "', ['one', 'end', { when: ' ' }]],
    ['otherwise: expected true or undefined, found false', ['one', 'end', { otherwise: false }]],
    ['expected when or otherwise, found both', ['one', 'end', { when: 'a', otherwise: true }]],
    ['max: expected a whole number of at least 1, found 1.5', ['one', 'one', { when: 'a', max: 1.5 }]],
    [
      "join: only a fork has a join: list its branches, as in ['a', ['b', 'c'], { join: 'd' }]",
      ['one', 'one', { join: 'a' }],
    ],
    [
      'max: not allowed for a fork: set it on the edge that leads to the fork',
      ['one', ['a', 'b'], { join: 'one', max: 1 }],
    ],
    ['a fork needs at least two branches: use a plain edge for one', ['one', ['a'], { join: 'one' }]],
    ['a fork lists each branch once: remove the repeated one', ['one', ['a', 'a'], { join: 'one' }]],
    ["a fork needs a join: add { join: 'node' }", ['one', ['a', 'b']]],
    ["a fork needs a join: add { join: 'node' }", ['one', ['a', 'b'], { when: 'x' }]],
    ["join: expected a node's id, found 1", ['one', ['a', 'b'], { join: 1 }]],
  ])('edges.0: %s', (message, edge) => {
    expect(edgesError('one', edge)).toBe(`workflow w: edges.0: ${message}`)
  })
})
