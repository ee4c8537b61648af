// Agents as nodes: an agent runs in a workflow like in its own run, on a lane of its node.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { approve, call, callsIn, counted, scripted, subAgentCall, writerEntries } from '../../api/pendings.fixture.ts'
import { type Agent, agent } from '../../define/agent.ts'
import type { NodeContext } from '../../define/node.ts'
import { tool } from '../../define/tool.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { chunksOf, recordingModel, resultsIn } from '../agent/run-to-end.fixture.ts'
import { crashAtEveryAppend } from './crash-everywhere.fixture.ts'
import { publicOf, sequence, single, WorkflowTestRun } from './workflow-test-run.fixture.ts'

const texts = async (testRun: WorkflowTestRun): Promise<string[]> => {
  const { messages } = await testRun.view()
  return messages.flatMap(({ role, parts }) =>
    role === 'user' ? [] : [parts.map(part => (part.type === 'text' && 'text' in part ? part.text : '')).join('')],
  )
}

describe('an agent as a node', () => {
  test("gets the input of the node, returns its last text as data and writes to the workflow's message", async () => {
    const { agent: writer, prompts } = scripted('writer', [{ text: 'A poem.' }])
    const testRun = await WorkflowTestRun.start(
      sequence({
        plan: () => ({ data: { topic: 'mills' } }),
        write: { agent: writer, prompt: ({ topic }: { topic: string }) => `Write of ${topic}.` },
        read: ({ input }: NodeContext<string>) => ({ data: `Read: ${input}` }),
      }),
    )
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'Read: A poem.' })
    expect(prompts).toHaveLength(1)
    expect(JSON.parse(prompts[0] ?? '')).toMatchObject([{ role: 'user', content: [{ text: 'Write of mills.' }] }])
    expect(await texts(testRun)).toEqual(['A poem.'])
    const words = writerEntries(await testRun.log()).filter(({ chunk }) => chunk.type === 'text-delta')
    expect(words.map(({ origin }) => [origin.agentId, origin.lane, origin.node, origin.step])).toEqual([
      ['r', 'main/agent:writer.1', 'write', 2],
    ])
  })

  test('executes tools and reports invalid calls to the model', async () => {
    const { tool: count, ran } = counted('count')
    const { model, modelCalls } = recordingModel([
      { text: 'I count', calls: [call('count', 'k1', { n: 'x' })] },
      { calls: [call('count', 'k2', { n: 2 }), call('none', 'k3')] },
      { text: 'Two.' },
    ])
    const testRun = await WorkflowTestRun.start(single(agent({ name: 'counter', model, tools: [count] }) as Agent))
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'Two.' })
    expect(ran).toEqual([2])
    expect(Object.keys(resultsIn(modelCalls[1] as never))).toEqual(['k1'])
    expect(resultsIn(modelCalls[2] as never)).toMatchObject({
      k1: { type: 'error-text' },
      k2: { value: 'count 2' },
      k3: { type: 'error-text' },
    })
    await testRun.log()
  })

  test("returns its output as the data of the node, streamed, and as the run's output only at the end", async () => {
    const { model } = recordingModel([
      { text: 'Let me see.', calls: [call('count', 'k1', { n: 1 })] },
      { text: '{"title":"Mills","tags":["a","b"]}' },
    ])
    const { tool: count } = counted('count')
    const output = z.object({ title: z.string(), tags: z.array(z.string()) })
    const editor = agent({ name: 'editor', model, outputSchema: output, tools: [count] }) as Agent
    const testRun = await WorkflowTestRun.start(
      sequence({ edit: editor, last: ({ input }: NodeContext<{ title: string }>) => ({ data: input.title }) }),
    )
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'Mills' })
    const log = publicOf(await testRun.log())
    expect(chunksOf(log, 'output')).toEqual([{ type: 'output', output: 'Mills' }])
    const { structured } = await testRun.view()
    expect(structured).toMatchObject([
      { streamId: 'r:1.edit.1:agent:editor.1', dataType: 'editor', status: 'done', data: { title: 'Mills' } },
    ])
    expect(chunksOf(log, 'structured-data').length).toBeGreaterThan(1)
    expect(await texts(testRun)).toEqual(['Let me see.'])
  })

  test('ends with a finishing tool, whose output is the data, also null, without ending the run', async () => {
    const finish = tool({ name: 'finish', inputSchema: z.object({}), finish: true, execute: () => null })
    const testAgent = scripted('own', [{ text: 'So', calls: [call('finish', 'k1')] }], { tools: [finish] }).agent
    const testRun = await WorkflowTestRun.start(
      sequence({ own: testAgent, last: ({ input }: NodeContext<unknown>) => ({ data: { input } as never }) }),
    )
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: { input: null } })
    expect(chunksOf(await testRun.log(), 'output')).toEqual([{ type: 'output', output: { input: null } }])
  })

  test('sets its initial state if the session has none, and its tools change it', async () => {
    const add = tool({
      name: 'add',
      inputSchema: z.object({ n: z.number() }),
      execute({ n }, { updateState }) {
        updateState(state => ({ total: (state as { total: number }).total + n }))
        return 'added'
      },
    })
    const adder = (name: string, id: string) =>
      scripted(name, [{ calls: [call('add', id, { n: 2 })] }, { text: 'ok' }], {
        tools: [add],
        stateSchema: z.object({ total: z.number() }),
        initialState: { total: 5 },
      }).agent
    const testRun = await WorkflowTestRun.start(sequence({ first: adder('one', 'k1'), last: adder('two', 'k2') }))
    expect(await testRun.result()).toMatchObject({ status: 'completed' })
    expect((await testRun.view()).state).toEqual({ total: 9 })
    expect(chunksOf(await testRun.log(), 'state-snapshot')).toHaveLength(1)
  })

  test('calls stopWhen and trimHistory with its own message and history', async () => {
    const seen: unknown[] = []
    const { tool: count } = counted('count')
    const { agent: before } = scripted('before', [{ text: 'Before.' }])
    const { agent: testAgent } = scripted(
      'own',
      [
        { text: 'One', calls: [call('count', 'k1', { n: 1 })] },
        { text: 'Two', calls: [call('count', 'k2', { n: 2 })] },
      ],
      {
        tools: [count],
        stopWhen: ({
          step,
          toolNames,
          message,
        }: {
          step: number
          toolNames: string[]
          message: { parts: object[] }
        }) => {
          seen.push([step, toolNames, message.parts.length])
          return step === 2
        },
        trimHistory: (messages: readonly { role: string }[]) => {
          seen.push(messages.map(({ role }) => role))
          return messages
        },
      },
    )
    const testRun = await WorkflowTestRun.start(sequence({ before, own: testAgent }))
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'Two' })
    expect(seen).toEqual([['user'], [1, ['count'], 3], ['user', 'assistant'], [2, ['count'], 6]])
  })

  test('retries a failed model call by the agent, then the node by its own policy', async () => {
    let calls = 0
    const model = scriptedModel(() => {
      calls++
      return calls < 4 ? { error: 'overloaded' as never, text: '' } : { text: 'At last.' }
    })
    const testAgent = agent({ name: 'own', model, maxRetries: 1 }) as Agent
    const testRun = await WorkflowTestRun.start(
      single({ agent: testAgent, retry: { attempts: 2, backoff: { firstMs: 1 } } }),
    )
    const result = await testRun.result()
    expect([calls, result.status]).toEqual([4, 'completed'])
    await testRun.log()
  })

  test('pauses the run for an approval, and continues after a denial', async () => {
    const { tool: careful, ran } = counted('careful', true)
    const testAgent = scripted(
      'own',
      [{ calls: [call('careful', 'k1', { n: 1 }), call('careful', 'k2', { n: 2 })] }, { text: 'ok' }],
      {
        tools: [careful],
      },
    ).agent
    const testRun = await WorkflowTestRun.start(
      sequence({ own: testAgent, last: ({ input }: NodeContext<string>) => ({ data: `${input}!` }) }),
    )
    expect(await testRun.result()).toMatchObject({ status: 'paused' })
    await testRun.restart()
    await approve(testRun.runtime, 'k1')
    await approve(testRun.runtime, 'k2', false)
    expect(await testRun.result()).toMatchObject({ status: 'completed', output: 'ok!' })
    expect(ran).toEqual([1])
    const { k2 } = await callsIn(testRun.runtime)
    expect(k2?.state).toBe('output-denied')
    await testRun.log()
  })
})

describe('an agent as a node, with a crash after every append', () => {
  test('gives the same result with tools, an approval, a sub-agent, state and an output', async () => {
    const { shape, kills } = await crashAtEveryAppend({
      programs() {
        const { tool: careful } = counted('careful', true)
        const add = tool({
          name: 'add',
          inputSchema: z.object({ n: z.number() }),
          execute({ n }, { updateState }) {
            updateState(state => ({ total: (state as { total: number }).total + n }))
            return 'added'
          },
        })
        const { agent: child } = scripted(
          'child',
          [{ calls: [call('careful', 'g1', { n: 1 })] }, { text: 'child is done' }],
          {
            tools: [careful],
          },
        )
        const { agent: testAgent } = scripted(
          'own',
          [
            {
              text: 'Let me see.',
              calls: [call('add', 'k1', { n: 2 }), subAgentCall('child', 'c1'), call('careful', 'k2', { n: 2 })],
            },
            { text: '{"total":7}' },
          ],
          {
            tools: [careful, add],
            subAgents: [child],
            outputSchema: z.object({ total: z.number() }),
            stateSchema: z.object({ total: z.number() }),
            initialState: { total: 5 },
          },
        )
        const last = ({ input }: NodeContext<{ total: number }>) => ({
          data: { own: input.total },
          ui: { message: 'There.' },
        })
        return { workflows: [sequence({ own: testAgent, last })] }
      },
      start: { workflow: 'workflow:own@1' },
    })
    expect(kills).toBeGreaterThan(12)
    expect(shape).toMatchObject({
      run: [{ status: 'completed' }],
      output: { own: 7 },
      state: { total: 7 },
      agents: [{ agentId: 'child:c1', parentId: 'r', status: 'completed', result: 'child is done' }],
    })
  })
})
