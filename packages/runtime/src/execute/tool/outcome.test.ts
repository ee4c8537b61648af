import type { Json } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../../define/tool.ts'
import { ToolError } from '../../error/error.ts'
import { caller, callsOf, chunksOf, resultsIn, runToEnd } from '../agent/run-to-end.fixture.ts'

const none = z.object({})

test('reports an invalid input to the model without running the code', async () => {
  let count = 0
  const picky = tool({
    name: 'picky',
    inputSchema: z.object({ n: z.number() }),
    execute: () => ++count,
  })
  const { agent: asker, modelCalls } = caller([picky], [{ name: 'picky', input: { n: 'x' }, id: 'c1' }])
  const { result, log } = await runToEnd(asker)
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(count).toBe(0)
  expect(chunksOf(log, 'tool-input-error')).toMatchObject([
    {
      toolCallId: 'c1',
      toolName: 'picky',
      errorText: expect.stringMatching(/^the input does not match its schema: n: /),
    },
  ])
  expect(resultsIn(modelCalls[1] as never)).toEqual({
    c1: { type: 'error-text', value: expect.stringMatching(/does not match its schema: n: /) },
  })
})

test('treats yielded values as progress and the returned value as output', async () => {
  const steps = tool({
    name: 'steps',
    inputSchema: none,
    async *execute() {
      yield 'one'
      yield { two: 2 }
      return 'three'
    },
  })
  const { log, result } = await runToEnd(caller([steps], [{ name: 'steps' }]).agent)
  expect(chunksOf(log, 'tool-output-available').map(({ output, preliminary }) => [output, preliminary])).toEqual([
    ['one', true],
    [{ two: 2 }, true],
    ['three', undefined],
  ])
  const [call] = callsOf(result.message)
  expect(call?.output).toBe('three')
  expect(call).not.toHaveProperty('progress')
})

test.each<[string, () => unknown, Json]>([
  [
    'the last yielded value if it returns nothing',
    async function* () {
      yield 1
      yield 2
    },
    2,
  ],
  [
    'null if it returns null',
    async function* () {
      yield 1
      return null
    },
    null,
  ],
  ['null if it neither yields nor returns', async function* () {}, null],
  [
    'the returned value if it is synchronous',
    function* () {
      yield 1
      return 3
    },
    3,
  ],
])('the output of a generator is %s', async (_, execute, output) => {
  const { result } = await runToEnd(
    caller([tool({ name: 'g', inputSchema: none, execute: execute as () => unknown })], [{ name: 'g' }]).agent,
  )
  expect(callsOf(result.message)).toMatchObject([{ state: 'output-available', output }])
})

test.each<[string, (onLeft: () => void) => AsyncGenerator | Generator]>([
  [
    'an asynchronous one',
    async function* (onLeft) {
      try {
        yield 1n
      } finally {
        onLeft()
      }
    },
  ],
  [
    'a synchronous one',
    function* (onLeft) {
      try {
        yield 1n
      } finally {
        onLeft()
      }
    },
  ],
  [
    'one that throws while it is closed',
    function* (onLeft) {
      try {
        yield 1n
      } finally {
        onLeft()
        // biome-ignore lint/correctness/noUnsafeFinally: that is what such code does
        throw new Error('password=hunter2')
      }
    },
  ],
  [
    'one whose close never settles',
    async function* (onLeft) {
      try {
        yield 1n
      } finally {
        onLeft()
        await new Promise(() => {})
      }
    },
  ],
])('closes a generator whose progress is not JSON: %s', async (_, execute) => {
  let count = 0
  const odd = tool({
    name: 'odd',
    inputSchema: none,
    execute: () => execute(() => count++) as AsyncGenerator<unknown, null>,
  })
  const { result } = await runToEnd(caller([odd], [{ name: 'odd' }]).agent)
  expect(count).toBe(1)
  expect(callsOf(result.message)).toMatchObject([
    { code: 'tool_output_invalid', errorText: 'the progress of odd is not JSON' },
  ])
})

test('fails a call after its timeout, aborts its signal and does not wait for it', async () => {
  const aborted: unknown[] = []
  const forever = tool({
    name: 'forever',
    inputSchema: none,
    timeoutMs: 5,
    execute(_input, { abortSignal }) {
      abortSignal.addEventListener('abort', () => aborted.push((abortSignal.reason as ToolError).code))
      return new Promise(() => {})
    },
  })
  const { agent: waiting, modelCalls } = caller([forever], [{ name: 'forever', id: 'c1' }])
  const { result, log } = await runToEnd(waiting)
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(aborted).toEqual(['tool_timeout'])
  const errorText = 'forever took longer than 5 ms'
  expect(chunksOf(log, 'tool-output-error')).toEqual([
    { type: 'tool-output-error', toolCallId: 'c1', executor: 'server', errorText, code: 'tool_timeout' },
  ])
  expect(resultsIn(modelCalls[1] as never)).toEqual({ c1: { type: 'error-text', value: errorText } })
})

test('accepts Infinity as no timeout', async () => {
  const calm = tool({
    name: 'calm',
    inputSchema: none,
    timeoutMs: Number.POSITIVE_INFINITY,
    execute: async () => 'calm',
  })
  const { result } = await runToEnd(caller([calm], [{ name: 'calm' }]).agent)
  expect(callsOf(result.message)).toMatchObject([{ output: 'calm' }])
})

test('shows messages of ToolError and only logs those of other errors', async () => {
  const secret = new Error('password=hunter2')
  const tools = [
    tool({
      name: 'shown',
      inputSchema: none,
      execute() {
        throw new ToolError('the shop is closed', { cause: secret })
      },
    }),
    tool({ name: 'hidden', inputSchema: none, execute: () => Promise.reject(secret) }),
    tool({
      name: 'odd',
      inputSchema: none,
      async *execute() {
        yield 1
        throw 'a text'
      },
    }),
  ]
  const { agent: failing, modelCalls } = caller(tools, [{ name: 'shown' }, { name: 'hidden' }, { name: 'odd' }])
  const { result, log, logged } = await runToEnd(failing)
  expect(result.status).toBe('completed')
  const code = 'tool_execution_failed'
  expect(callsOf(result.message)).toMatchObject([
    { state: 'output-error', errorText: 'the shop is closed', code },
    { state: 'output-error', errorText: 'hidden failed', code },
    { state: 'output-error', errorText: 'odd failed', code },
  ])
  expect(JSON.stringify([log, modelCalls[1]])).not.toContain('hunter2')
  expect(logged.map(({ cause }) => cause)).toEqual([secret, secret, 'a text'])
})

const MARK = Symbol.for('millrace.error')
const refuse = () => {
  throw new Error('no')
}

test.each<[string, unknown]>([
  ['a marked object without a message', { [MARK]: true }],
  ['a marked object with a code that is too long', { [MARK]: true, code: 'x'.repeat(100_000), message: 'x' }],
  ['a proxy that throws on every access', new Proxy({}, { has: refuse, get: refuse, getPrototypeOf: refuse })],
  [
    'an error whose code can be read only once',
    (() => {
      let count = 0
      const code = () => (++count > 1 ? refuse() : 'run_busy')
      return Object.defineProperty(Object.assign(new Error('x'), { [MARK]: true }), 'code', { get: code })
    })(),
  ],
  ['undefined', undefined],
])('fails the call, not the run, for a tool that throws %s', async (_, thrown) => {
  const odd = tool({ name: 'odd', inputSchema: none, execute: () => Promise.reject(thrown) })
  const cannotTell = {
    warn() {},
    error: (_message: string, fields: object) => void ('cause' in fields && refuse()),
  }
  const { result } = await runToEnd(caller([odd], [{ name: 'odd' }]).agent, { logger: cannotTell })
  expect(result.status).toBe('completed')
  expect(callsOf(result.message)).toMatchObject([
    { state: 'output-error', code: 'tool_execution_failed', errorText: 'odd failed' },
  ])
})

test('validates the output against its schema and stores the parsed value', async () => {
  const output = z.object({ n: z.string().transform(Number) })
  const good = tool({ name: 'good', inputSchema: none, outputSchema: output, execute: () => ({ n: '42' }) })
  const bad = tool({ name: 'bad', inputSchema: none, outputSchema: output, execute: () => ({ n: 42 }) as never })
  const { result } = await runToEnd(caller([good, bad], [{ name: 'good' }, { name: 'bad' }]).agent)
  expect(callsOf(result.message)).toMatchObject([
    { state: 'output-available', output: { n: 42 } },
    { state: 'output-error', errorText: expect.stringMatching(/^the result of bad does not match its schema: n: /) },
  ])
  expect(callsOf(result.message)[1]?.code).toBe('tool_output_invalid')
})

const cycle: { self?: unknown } = {}
cycle.self = cycle

test.each<[string, unknown, Json | undefined]>([
  ['undefined', undefined, null],
  ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
  ['an object with undefined and a function', { a: 1, b: undefined, c: () => 1 }, { a: 1 }],
  ['NaN', Number.NaN, null],
  ['a BigInt', 1n, undefined],
  ['a cycle', cycle, undefined],
  ['a function', () => 1, undefined],
  ['a symbol', Symbol('s'), undefined],
])('stores an output that is %s as JSON, or fails the call, not the run', async (_, returned, output) => {
  const odd = tool({ name: 'odd', inputSchema: none, execute: async () => ({ value: returned }).value })
  const { result } = await runToEnd(caller([odd], [{ name: 'odd' }]).agent)
  expect(result.status).toBe('completed')
  const [call] = callsOf(result.message)
  if (output !== undefined) expect(call).toMatchObject({ state: 'output-available', output })
  else {
    expect(call).toMatchObject({ state: 'output-error', code: 'tool_output_invalid' })
    expect(call?.errorText).toMatch(/^the result of odd is not JSON/)
  }
})
