import type { Json } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { gate } from '../../api/test-runtime.fixture.ts'
import { type ToolContext, tool } from '../../define/tool.ts'
import { ToolError } from '../../error/error.ts'
import { caller, callsOf, commitOf, resultsIn, runToEnd } from '../agent/run-to-end.fixture.ts'

const none = z.object({})

test('records the executor of every call, also of one that failed before it started', async () => {
  const fine = tool({ name: 'fine', inputSchema: none, execute: () => 1 })
  const picky = tool({ name: 'picky', inputSchema: z.object({ n: z.number() }), execute: () => 1 })
  const calls = [{ name: 'fine' }, { name: 'picky', input: { n: 'x' } }, { name: 'unknown' }]
  const { result } = await runToEnd(caller([fine, picky], calls).agent)
  expect(callsOf(result.message).map(({ executor, state }) => [executor, state])).toEqual([
    ['server', 'output-available'],
    ['server', 'output-error'],
    ['server', 'output-error'],
  ])
})

const small = { log: { maxEntryBytes: 4096, blobBytes: 2048, maxBlobBytes: 8192 } }

test('law 6: reports an output that is too large to the model, and the run continues', async () => {
  const tools = [
    tool({ name: 'fits', inputSchema: none, execute: () => 'x'.repeat(8000) }),
    tool({ name: 'large', inputSchema: none, execute: () => 'x'.repeat(9000) }),
    tool({
      name: 'yields',
      inputSchema: none,
      async *execute() {
        yield 'x'.repeat(9000)
        return 'small'
      },
    }),
    tool({
      name: 'emits',
      inputSchema: none,
      execute(_input, { emit }) {
        emit('big', 'x'.repeat(9000))
        return 'small'
      },
    }),
  ]
  const names = ['fits', 'large', 'yields', 'emits']
  const { agent: sayer, modelCalls } = caller(
    tools,
    names.map(name => ({ name, id: name })),
  )
  const { result } = await runToEnd(sayer, small)
  expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
  const code = 'tool_output_too_large'
  expect(callsOf(result.message)).toMatchObject([
    { state: 'output-available' },
    { state: 'output-error', code },
    { state: 'output-error', code },
    { state: 'output-error', code },
  ])
  const results = resultsIn(modelCalls[1] as never)
  expect(results['fits']).toEqual({ type: 'text', value: 'x'.repeat(8000) })
  expect(results['large']).toMatchObject({
    type: 'error-text',
    value: expect.stringMatching(/exceeds the size limit of the log/),
  })
})

test('law 6: truncates an error text to what the smallest entry holds', async () => {
  const loud = (name: string, text: string) =>
    tool({
      name,
      inputSchema: none,
      execute() {
        throw new ToolError(text)
      },
    })
  const tools = [
    loud('plain', 'x'.repeat(100_000)),
    loud('wide', '\u0001'.repeat(100_000)),
    loud('half', '😀'.repeat(9999)),
  ]
  const { result } = await runToEnd(
    caller(
      tools,
      tools.map(({ name }) => ({ name })),
    ).agent,
    small,
  )
  expect(result.status).toBe('completed')
  const texts = callsOf(result.message).map(({ errorText = '' }) => errorText)
  expect(texts.map(text => text.length)).toEqual([1001, 501, 1001])
  for (const text of texts) expect(text).toMatch(/…$/)
})

test('runs at most parallelCalls calls at a time', async () => {
  let now = 0
  let max = 0
  const all = gate()
  const busy = tool({
    name: 'busy',
    inputSchema: none,
    async execute() {
      max = Math.max(max, ++now)
      if (now === 3) all.open()
      await all.opened
      now--
      return null
    },
  })
  const calls = Array.from({ length: 10 }, (_, i) => ({ name: 'busy', id: `c${i}` }))
  const { result } = await runToEnd(caller([busy], calls, { parallelCalls: 3 }).agent)
  expect(result.status).toBe('completed')
  expect(max).toBe(3)
})

test('commits each outcome separately, and the last one closes the step', async () => {
  const order = tool({
    name: 'order',
    inputSchema: z.object({ n: z.number() }),
    execute({ n }, { updateState }) {
      updateState(state => [...((state as Json[] | undefined) ?? []), n])
      return n
    },
  })
  const calls = [1, 2, 3].map(n => ({ name: 'order', input: { n }, id: `${n}` }))
  const { log, view } = await runToEnd(caller([order], calls).agent)
  const done = view.state as number[]
  expect(done.toSorted()).toEqual([1, 2, 3])
  for (const { id } of calls) {
    const commit = commitOf(log, chunk => chunk.type === 'tool-output-available' && chunk.toolCallId === id)
    expect(commit.map(({ type }) => type)).toEqual(['tool-output-available', 'state-patch', 'checkpoint-created'])
  }
  const checkpoints = log.flatMap(({ chunk, origin }) =>
    chunk.type === 'checkpoint-created' && origin.guest === undefined
      ? [[origin.lane, origin.step, chunk.stepCount, chunk.closesStep]]
      : [],
  )
  expect(checkpoints).toEqual([
    ['main', 1, 1, false],
    ...done.map(n => [`main/${n}`, 1, 1, false]),
    ['main', 1, 1, true],
    ['main', 2, 2, true],
  ])
})

describe('measures a value of a tool before it is serialized', () => {
  /** A list whose items count how often they are read. It would have more than 1 GB as JSON. */
  function countingList() {
    let reads = 0
    const item = {
      get field() {
        reads++
        return 'x'.repeat(1000)
      },
    }
    return { list: Array.from({ length: 1_000_000 }, () => item), reads: () => reads }
  }
  const outputSchema = z.custom<unknown>(value => JSON.stringify(value).length > 0)

  test.each(['an output', 'an output with a schema', 'progress', 'an event', 'a state'])('%s', async kind => {
    const { list, reads } = countingList()
    const options = {
      name: 'heavy',
      inputSchema: none,
      async *execute(_input: unknown, { emit, updateState }: ToolContext) {
        if (kind === 'progress') yield list
        if (kind === 'an event') emit('big', list)
        if (kind === 'a state') updateState(() => list as never)
        return list
      },
    }
    const heavy = kind === 'an output with a schema' ? tool({ ...options, outputSchema }) : tool(options)
    const { agent: sayer } = caller([heavy], [{ name: 'heavy', id: 'c' }])
    const { result } = await runToEnd(sayer, { log: { ...small.log, maxBlobBytes: 200_000 } })
    expect(result).toMatchObject({ status: 'completed', text: 'Done.' })
    const code = kind === 'a state' ? 'tool_state_refused' : 'tool_output_too_large'
    expect(callsOf(result.message)).toMatchObject([
      { state: 'output-error', code, errorText: expect.stringContaining('exceeds the size limit of the log') },
    ])
    expect(reads()).toBeLessThan(1000)
  })
})
