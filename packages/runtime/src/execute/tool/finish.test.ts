import { memoryStore } from '@millrace/log'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { gate, testRuntime, until } from '../../api/test-runtime.fixture.ts'
import { agent } from '../../define/agent.ts'
import { tool } from '../../define/tool.ts'
import { ToolError } from '../../error/error.ts'
import { caller, callsOf, chunksOf, recordingModel, runToEnd } from '../agent/run-to-end.fixture.ts'

const input = z.object({ n: z.number() })
const finish = tool({ name: 'finish', inputSchema: input, finish: true, execute: ({ n }) => ({ answer: n }) })

test('a finishing tool ends the run with its output', async () => {
  const { agent: ending, modelCalls } = caller([finish], [{ name: 'finish', input: { n: 42 } }])
  const { result, log } = await runToEnd(ending)
  expect(result).toMatchObject({ status: 'completed', output: { answer: 42 }, text: '' })
  expect(modelCalls).toHaveLength(1)
  expect(chunksOf(log, 'finish')).toEqual([{ type: 'finish', finishReason: 'tool-calls' }])
  // The output and the outcome are in one commit.
  const types = log.map(({ chunk }) => chunk.type)
  expect(types[types.indexOf('output') - 1]).toBe('tool-output-available')
})

test.each([
  ['first', ['first']],
  ['last', ['last', 'first']],
])('uses the first of several finishing calls of the model, even if the %s is done first', async (early, outputs) => {
  const store = memoryStore()
  const onlooker = testRuntime({ store, engine: false }).run('s', 'r')
  const end = tool({
    name: 'end',
    inputSchema: z.object({ which: z.string() }),
    finish: true,
    async execute({ which }) {
      if (which !== early) await until(onlooker, 'output')
      return which
    },
  })
  const calls = ['first', 'last'].map(which => ({ name: 'end', input: { which }, id: which }))
  const { result, log } = await runToEnd(caller([end], calls).agent, { store }, { runId: 'r' })
  expect(result).toMatchObject({ status: 'completed', output: 'first' })
  expect(chunksOf(log, 'output').map(({ output }) => output)).toEqual(outputs)
})

test('calls next to a finishing one run to their end before the run ends', async () => {
  const rest = gate()
  const otherTool = tool({
    name: 'beside',
    inputSchema: input,
    async execute() {
      await rest.opened
      return 'too'
    },
  })
  const first = tool({
    name: 'first',
    inputSchema: input,
    finish: true,
    execute() {
      rest.open()
      return 'finished'
    },
  })
  const calls = [
    { name: 'beside', input: { n: 1 } },
    { name: 'first', input: { n: 1 } },
  ]
  const { agent: ending, modelCalls } = caller([otherTool, first], calls)
  const { result } = await runToEnd(ending)
  expect(result).toMatchObject({ status: 'completed', output: 'finished' })
  expect(callsOf(result.message).map(({ output }) => output)).toEqual(['too', 'finished'])
  expect(modelCalls).toHaveLength(1)
})

test('a failed finishing tool does not end the run', async () => {
  let count = 0
  const once = tool({
    name: 'once',
    inputSchema: input,
    finish: true,
    execute() {
      if (++count === 1) throw new ToolError('not yet')
      return 'now'
    },
  })
  const { model, modelCalls } = recordingModel([
    { calls: [{ name: 'once', input: { n: 1 }, id: 'a' }] },
    { calls: [{ name: 'once', input: { n: 'x' }, id: 'b' }] },
    { calls: [{ name: 'once', input: { n: 2 }, id: 'c' }] },
  ])
  const { result, log } = await runToEnd(agent({ name: 'again', model, tools: [once] }))
  expect(result).toMatchObject({ status: 'completed', output: 'now' })
  expect(chunksOf(log, 'output')).toHaveLength(1)
  expect(modelCalls).toHaveLength(3)
})

test('a finishing tool that exists in one step only ends the run', async () => {
  const { model, modelCalls } = recordingModel([{ calls: [{ name: 'finish', input: { n: 1 } }] }, { text: 'More.' }])
  const brief = agent({ name: 'brief', model, tools: ({ step }) => (step === 1 ? [finish] : []) })
  const { result } = await runToEnd(brief)
  expect(result).toMatchObject({ status: 'completed', output: { answer: 1 } })
  expect(modelCalls).toHaveLength(1)
})

test('law 6: reports an output of a finishing tool that is too large to the model', async () => {
  const large = tool({ name: 'large', inputSchema: input, finish: true, execute: ({ n }) => 'x'.repeat(n) })
  const { model } = recordingModel([
    { calls: [{ name: 'large', input: { n: 6000 }, id: 'a' }] },
    { calls: [{ name: 'large', input: { n: 10 }, id: 'b' }] },
  ])
  const { result } = await runToEnd(agent({ name: 'a', model, tools: [large] }), {
    log: { maxEntryBytes: 4096, blobBytes: 2048 },
  })
  expect(callsOf(result.message)).toMatchObject([{ code: 'tool_output_too_large' }, { output: 'x'.repeat(10) }])
  expect(result).toMatchObject({ status: 'completed', output: 'x'.repeat(10) })
})
