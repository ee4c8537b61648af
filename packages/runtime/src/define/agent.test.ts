import * as v from 'valibot'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ValidationError } from '../error/error.ts'
import { DEFAULT_BACKOFF } from '../model/backoff.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { type AgentDefinition, agent, DEFAULT_MAX_RETRIES, DEFAULT_PARALLEL_CALLS } from './agent.ts'
import { DEFAULT_BUDGET } from './budget.ts'
import { providerTool, tool } from './tool.ts'

const model = scriptedModel([])
const weather = tool({ name: 'weather', inputSchema: z.object({}), execute: () => 21 })

/** Defines an agent with options that the compiler would reject. */
const define = (wrong: Record<string, unknown>) => () =>
  agent({ name: 'helper', model, ...wrong } as unknown as AgentDefinition<string, [], undefined, undefined>)

test('agent() adds the documented defaults', () => {
  expect(agent({ name: 'helper', model })).toEqual({
    kind: 'agent',
    name: 'helper',
    program: 'agent:helper@1',
    model,
    settings: {},
    tools: [],
    subAgents: [],
    budget: DEFAULT_BUDGET,
    parallelCalls: DEFAULT_PARALLEL_CALLS,
    maxRetries: DEFAULT_MAX_RETRIES,
    modelLimits: {},
  })
  expect({ DEFAULT_BUDGET, DEFAULT_PARALLEL_CALLS, DEFAULT_MAX_RETRIES, DEFAULT_BACKOFF }).toEqual({
    DEFAULT_BUDGET: { steps: 50, tokens: 2_000_000, bytes: 268_435_456, timeMs: 3_600_000 },
    DEFAULT_PARALLEL_CALLS: 8,
    DEFAULT_MAX_RETRIES: 3,
    DEFAULT_BACKOFF: { firstMs: 1000, longestMs: 60_000 },
  })
})

test('replaces default limits by those of the definition, and accepts Infinity as no limit', () => {
  const { budget } = agent({ name: 'helper', model, maxSteps: 3, budget: { tokens: Number.POSITIVE_INFINITY } })
  const { bytes, timeMs } = DEFAULT_BUDGET
  expect(budget).toEqual({ steps: 3, tokens: Number.POSITIVE_INFINITY, bytes, timeMs })
})

const tools = (...all: unknown[]) => ({ tools: all })

test.each<[string, Record<string, unknown>, RegExp]>([
  ['no name', { name: undefined }, /^agent undefined: name: expected 1 to 64 letters.*, found undefined$/],
  ['a name that is a BigInt', { name: 5n }, /^agent a bigint: name: .*found a bigint$/],
  ['sub-agents given by name', { subAgents: ['x'] }, /^agent helper: subAgents\.0: expected the result of agent\(\)/],
  ['sub-agents that are not an array', { subAgents: 'x' }, /^agent helper: subAgents: expected an array$/],
  ['an empty name', { name: '' }, /^agent : name: .*found ""$/],
  ['a name with a space', { name: 'my agent' }, /^agent my agent: name: .*found "my agent"$/],
  ['a version with a slash', { version: '1/2' }, /^agent helper: version: .*found "1\/2"$/],
  ['no model', { model: undefined }, /^agent helper: model: expected a model .*found undefined$/],
  ['the name of a model instead of a model', { model: 'gpt-5' }, /^agent helper: model: .*found a string/],
  ['a model of an old version', { model: { specificationVersion: 'v2', doStream() {} } }, /^agent helper: model: .*v2/],
  [
    'two tools with the same name',
    tools(weather, weather),
    /^agent helper: tools: expected different names, found weather twice: rename one tool$/,
  ],
  [
    'an object that is not a tool',
    tools(weather, { name: 'x' }),
    /^agent helper: tools\.1: expected the result of tool\(\)/,
  ],
  ['undefined among the tools', tools(undefined), /^agent helper: tools\.0: /],
  ['tools that are not an array', { tools: { weather } }, /^agent helper: tools: expected an array, found object$/],
  [
    'an unknown option',
    { output: z.object({}) },
    /^agent helper: expected only name, .*outputSchema.*, found "output"$/,
  ],
  ['a limit of 0 steps', { maxSteps: 0 }, /^agent helper: budget: steps: expected a number above 0, found 0$/],
  ['steps that are not a number', { maxSteps: Number.NaN }, /^agent helper: budget: steps: .*found NaN$/],
  ['a negative limit of tokens', { budget: { tokens: -1 } }, /^agent helper: budget: tokens: .*found -1$/],
  ['a time limit that is a string', { budget: { timeMs: '1s' } }, /^agent helper: budget: timeMs: .*found 1s$/],
  [
    'an unknown limit',
    { budget: { cost: 1 } },
    /^agent helper: budget: expected steps, tokens, bytes and timeMs, found cost$/,
  ],
  [
    'parallelCalls of 0',
    { parallelCalls: 0 },
    /^agent helper: parallelCalls: expected a whole number of at least 1, found 0$/,
  ],
  ['parallelCalls that is not an integer', { parallelCalls: 1.5 }, /^agent helper: parallelCalls: .*found 1.5$/],
  [
    'negative maxRetries',
    { maxRetries: -1 },
    /^agent helper: maxRetries: expected a whole number of at least 0, found -1$/,
  ],
  ['stopWhen that is a number', { stopWhen: 3 }, /^agent helper: stopWhen: expected a function, found number$/],
  ['trimHistory that is a number', { trimHistory: 3 }, /^agent helper: trimHistory: expected a function/],
  [
    'an outputSchema that is not a schema',
    { outputSchema: { type: 'object' } },
    /^agent helper: outputSchema: expected a Standard Schema/,
  ],
  [
    'an outputSchema without a JSON Schema',
    { outputSchema: v.object({}) },
    /^agent helper: outputSchema: .*valibot.* as jsonSchema$/,
  ],
  [
    'an outputSchema of a string',
    { outputSchema: z.string() },
    /^agent helper: outputSchema: .*found one of "string": wrap it/,
  ],
  [
    'an outputSchema with a date',
    { outputSchema: z.object({ at: z.date() }) },
    /^agent helper: outputSchema: .*Date.* as jsonSchema$/,
  ],
  ['a stateSchema that is not a schema', { stateSchema: {} }, /^agent helper: stateSchema: expected a Standard Schema/],
  [
    'an initialState that does not match stateSchema',
    { stateSchema: z.object({ count: z.number() }), initialState: { count: 'one' } },
    /^agent helper: initialState: expected a state that stateSchema accepts, found a problem: count: /,
  ],
])('rejects an agent with %s and names the option', (_, wrong, message) => {
  expect(define(wrong)).toThrow(ValidationError)
  expect(define(wrong)).toThrow(message)
})

test('accepts a JSON Schema next to an output schema that cannot be converted', () => {
  const jsonSchema = { type: 'object', properties: { n: { type: 'number' } } }
  const made = agent({ name: 'helper', model, outputSchema: v.object({ n: v.number() }), jsonSchema })
  expect(made.jsonSchema).toBe(jsonSchema)
})

test.each<[string, () => unknown, RegExp]>([
  ['no name', () => tool({ inputSchema: z.object({}), execute: () => 1 } as never), /^tool undefined: name: /],
  [
    'a name with a dot',
    () => tool({ name: 'a.b', inputSchema: z.object({}), execute: () => 1 }),
    /^tool "a\.b": name: /,
  ],
  [
    'no execute',
    () => tool({ name: 'a', inputSchema: z.object({}) } as never),
    /^tool a: execute: expected a function, or client: true$/,
  ],
  [
    'an unknown option',
    () => tool({ name: 'a', inputSchema: z.object({}), output: z.object({}), execute: () => 1 } as never),
    /^tool a: expected only name, .*outputSchema.*, found "output"$/,
  ],
  [
    'no inputSchema',
    () => tool({ name: 'a', execute: () => 1 } as never),
    /^tool a: inputSchema: expected a Standard Schema/,
  ],
  [
    'an outputSchema that is not a schema',
    () => tool({ name: 'a', inputSchema: z.object({}), outputSchema: {}, execute: () => 1 } as never),
    /^tool a: outputSchema: expected a Standard Schema/,
  ],
  [
    'an inputSchema without a JSON Schema',
    () => tool({ name: 'a', inputSchema: v.object({}), execute: () => 1 }),
    /^tool a: inputSchema: the schema of valibot has no JSON Schema.* as jsonSchema$/,
  ],
  [
    'a jsonSchema that is a string',
    () => tool({ name: 'a', inputSchema: z.object({}), jsonSchema: 'object', execute: () => 1 } as never),
    /^tool a: inputSchema: jsonSchema: expected an object, found a string$/,
  ],
  [
    'a timeout of 0',
    () => tool({ name: 'a', inputSchema: z.object({}), timeoutMs: 0, execute: () => 1 }),
    /^tool a: timeoutMs: expected milliseconds .*found 0$/,
  ],
  [
    'a timeout above the maximum of a timer',
    () => tool({ name: 'a', inputSchema: z.object({}), timeoutMs: 2 ** 31, execute: () => 1 }),
    /^tool a: timeoutMs: .*found 2147483648$/,
  ],
  [
    'a timeout that is a string',
    () => tool({ name: 'a', inputSchema: z.object({}), timeoutMs: '50', execute: () => 1 } as never),
    /^tool a: timeoutMs: .*found a string$/,
  ],
  [
    'a timeout that is a symbol',
    () => tool({ name: 'a', inputSchema: z.object({}), timeoutMs: Symbol(), execute: () => 1 } as never),
    /^tool a: timeoutMs: .*found a symbol$/,
  ],
  [
    'an approval that is a symbol',
    () => tool({ name: 'a', inputSchema: z.object({}), approval: Symbol(), execute: () => 1 } as never),
    /^tool a: approval: expected a boolean, a rule/,
  ],
  [
    'an approval whose timeout is a string',
    () => tool({ name: 'a', inputSchema: z.object({}), approval: { timeoutMs: '50' }, execute: () => 1 } as never),
    /^tool a: approval: timeoutMs: expected milliseconds/,
  ],
  [
    'a jsonSchema that is a BigInt',
    () => tool({ name: 'a', inputSchema: z.object({}), jsonSchema: 5n, execute: () => 1 } as never),
    /jsonSchema: expected an object, found a bigint$/,
  ],
  ['a name that is a BigInt', () => tool({ name: 5n } as never), /^tool a bigint: name: /],
  ['null as its definition', () => tool(null as never), /^tool: expected an object, found null$/],
  [
    'null as its definition, by providerTool',
    () => providerTool(null as never),
    /^providerTool: expected an object, found null$/,
  ],
  ['an id that is a BigInt', () => providerTool({ name: 'a', id: 5n } as never), /^tool a: id: .*found a bigint$/],
  [
    'an id without a provider',
    () => providerTool({ name: 'a', id: 'search' as 'a.b' }),
    /^tool a: id: .*found "search"$/,
  ],
])('rejects a tool with %s and names the option', (_, wrong, message) => {
  expect(wrong).toThrow(ValidationError)
  expect(wrong).toThrow(message)
})
