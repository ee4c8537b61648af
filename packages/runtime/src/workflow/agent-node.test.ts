// Agents as nodes: an agent works in a workflow as it would in a run of its own, on a lane of its node.

import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Agent, agent } from '../agent/agent.ts'
import { chunksOf, heardModel, resultsIn } from '../agent/play.fixture.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useStep } from '../hooks/use-step.ts'
import { scriptedModel } from '../model/scripted.ts'
import { approve, ask, call, callsIn, counted, saidIn, scripted } from '../run/people.fixture.ts'
import { gate, patient } from '../run/stage.fixture.ts'
import { tool } from '../tool/tool.ts'
import { cutEverywhere } from './cut.fixture.ts'
import type { NodeContext } from './node.ts'
import { inRow, Play, publicOf, say, single } from './play.fixture.ts'

const texts = async (play: Play): Promise<string[]> => {
  const { messages } = await play.view()
  return messages.flatMap(({ role, parts }) =>
    role === 'user' ? [] : [parts.map(part => (part.type === 'text' && 'text' in part ? part.text : '')).join('')],
  )
}

describe('an agent as a node', () => {
  test('is told what the node receives, and what it says last is its data; its words are in the workflow’s message', async () => {
    const { agent: writer, prompts } = scripted('writer', [{ text: 'A poem.' }])
    const play = await Play.of(
      inRow({
        plan: () => ({ data: { topic: 'mills' } }),
        write: { agent: writer, prompt: ({ topic }: { topic: string }) => `Write of ${topic}.` },
        read: ({ input }: NodeContext<string>) => ({ data: `Read: ${input}` }),
      }),
    )
    expect(await play.result()).toMatchObject({ status: 'completed', output: 'Read: A poem.' })
    expect(prompts).toHaveLength(1)
    expect(JSON.parse(prompts[0] ?? '')).toMatchObject([{ role: 'user', content: [{ text: 'Write of mills.' }] }])
    expect(await texts(play)).toEqual(['A poem.'])
    const words = saidIn(await play.log()).filter(({ chunk }) => chunk.type === 'text-delta')
    expect(words.map(({ origin }) => [origin.agentId, origin.lane, origin.node, origin.step])).toEqual([
      ['r', 'main/agent:writer.1', 'write', 2],
    ])
  })

  test('uses its tools, and is told of calls that could not be made', async () => {
    const { tool: count, ran } = counted('count')
    const { model, heard } = heardModel([
      { text: 'I count', calls: [call('count', 'k1', { n: 'x' })] },
      { calls: [call('count', 'k2', { n: 2 }), call('none', 'k3')] },
      { text: 'Two.' },
    ])
    const play = await Play.of(single(agent({ name: 'counter', model, tools: [count] }) as Agent))
    expect(await play.result()).toMatchObject({ status: 'completed', output: 'Two.' })
    expect(ran).toEqual([2])
    expect(Object.keys(resultsIn(heard[1] as never))).toEqual(['k1'])
    expect(resultsIn(heard[2] as never)).toMatchObject({
      k1: { type: 'error-text' },
      k2: { value: 'count 2' },
      k3: { type: 'error-text' },
    })
    await play.log()
  })

  test('its output is the data of the node, seen while it comes, and no output of the run but at the end', async () => {
    const { model } = heardModel([
      { text: 'Let me see.', calls: [call('count', 'k1', { n: 1 })] },
      { text: '{"title":"Mills","tags":["a","b"]}' },
    ])
    const { tool: count } = counted('count')
    const output = z.object({ title: z.string(), tags: z.array(z.string()) })
    const editor = agent({ name: 'editor', model, output, tools: [count] }) as Agent
    const play = await Play.of(
      inRow({ edit: editor, last: ({ input }: NodeContext<{ title: string }>) => ({ data: input.title }) }),
    )
    expect(await play.result()).toMatchObject({ status: 'completed', output: 'Mills' })
    const log = publicOf(await play.log())
    expect(chunksOf(log, 'output')).toEqual([{ type: 'output', output: 'Mills' }])
    const { structured } = await play.view()
    expect(structured).toMatchObject([
      { streamId: 'r:1.edit.1:agent:editor.1', dataType: 'editor', status: 'done', data: { title: 'Mills' } },
    ])
    expect(chunksOf(log, 'structured-data').length).toBeGreaterThan(1)
    expect(await texts(play)).toEqual(['Let me see.'])
  })

  test('a finishing tool ends it, and not the run; what it gave is the data, null too', async () => {
    const finish = tool({ name: 'finish', input: z.object({}), finish: true, execute: () => null })
    const own = scripted('own', [{ text: 'So', calls: [call('finish', 'k1')] }], { tools: [finish] }).agent
    const play = await Play.of(
      inRow({ own, last: ({ input }: NodeContext<unknown>) => ({ data: { input } as never }) }),
    )
    expect(await play.result()).toMatchObject({ status: 'completed', output: { input: null } })
    expect(chunksOf(await play.log(), 'output')).toEqual([{ type: 'output', output: { input: null } }])
  })

  test('it begins with its state, where the session has none, and its tools change it', async () => {
    const add = tool({
      name: 'add',
      input: z.object({ n: z.number() }),
      execute({ n }, { updateState }) {
        updateState(state => ({ total: (state as { total: number }).total + n }))
        return 'added'
      },
    })
    const adder = (name: string, id: string) =>
      scripted(name, [{ calls: [call('add', id, { n: 2 })] }, { text: 'ok' }], {
        tools: [add],
        state: z.object({ total: z.number() }),
        initialState: { total: 5 },
      }).agent
    const play = await Play.of(inRow({ first: adder('one', 'k1'), last: adder('two', 'k2') }))
    expect(await play.result()).toMatchObject({ status: 'completed' })
    expect((await play.view()).state).toEqual({ total: 9 })
    expect(chunksOf(await play.log(), 'state-snapshot')).toHaveLength(1)
  })

  test('stopWhen and trimHistory are asked with its own message and history alone', async () => {
    const seen: unknown[] = []
    const { tool: count } = counted('count')
    const { agent: before } = scripted('before', [{ text: 'Before.' }])
    const { agent: own } = scripted(
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
    const play = await Play.of(inRow({ before, own }))
    expect(await play.result()).toMatchObject({ status: 'completed', output: 'Two' })
    expect(seen).toEqual([['user'], [1, ['count'], 3], ['user', 'assistant'], [2, ['count'], 6]])
  })

  test('a model call that fails is tried again by the agent, and then the node by its own rule', async () => {
    let calls = 0
    const model = scriptedModel(() => {
      calls++
      return calls < 4 ? { error: 'overloaded' as never, text: '' } : { text: 'At last.' }
    })
    const own = agent({ name: 'own', model, maxRetries: 1 }) as Agent
    const play = await Play.of(single({ agent: own, retry: { attempts: 2, backoff: { first: 1 } } }))
    const result = await play.result()
    expect([calls, result.status]).toEqual([4, 'completed'])
    await play.log()
  })

  test('an approval inside it pauses the run; denied, the agent is told and goes on', async () => {
    const { tool: careful, ran } = counted('careful', true)
    const own = scripted(
      'own',
      [{ calls: [call('careful', 'k1', { n: 1 }), call('careful', 'k2', { n: 2 })] }, { text: 'ok' }],
      {
        tools: [careful],
      },
    ).agent
    const play = await Play.of(inRow({ own, last: ({ input }: NodeContext<string>) => ({ data: `${input}!` }) }))
    expect(await play.result()).toMatchObject({ status: 'paused' })
    await play.restart()
    await approve(play.runtime, 'k1')
    await approve(play.runtime, 'k2', false)
    expect(await play.result()).toMatchObject({ status: 'completed', output: 'ok!' })
    expect(ran).toEqual([1])
    const { k2 } = await callsIn(play.runtime)
    expect(k2?.state).toBe('output-denied')
    await play.log()
  })
})

describe('the bounds of an agent as a node', () => {
  const used = (input: number, output: number) => ({ usage: { input, output } })

  test('tokens: only what it used itself counts, however much others of the run did', async () => {
    const { tool: count } = counted('count')
    const own = scripted(
      'own',
      [
        { calls: [call('count', 'k1', { n: 1 })], ...used(10, 5) },
        { calls: [call('count', 'k2', { n: 2 })], ...used(10, 5) },
        { text: 'never', ...used(1, 1) },
      ],
      { tools: [count], budget: { tokens: 30 } },
    ).agent
    const rich = scriptedModel([{ text: 'x', ...used(500, 500) }])
    const play = await Play.of(
      inRow({
        before: async () => ({ data: (await useReason({ model: rich, input: 'x' })).text }),
        own: { agent: own, onError: { route: 'after' } },
        after: ({ input }: NodeContext<unknown>) => ({ data: input as never }),
      }),
    )
    const result = await play.result()
    expect(result.output).toMatchObject({
      code: 'budget_tokens',
      message: 'agent own has used 30 tokens, and may use 30',
    })
    const { runs } = await play.view()
    expect(runs[0]?.usage).toMatchObject({ inputTokens: 520, outputTokens: 510 })
  })

  test('tokens: each execution of the node has them anew, and the run’s own count all', async () => {
    const { agent: own } = scripted('own', [{ text: 'x', ...used(10, 10) }], { budget: { tokens: 15 } })
    const thrice = inRow({ one: own, two: own, three: own })
    expect(await (await Play.of(thrice)).result()).toMatchObject({ status: 'completed' })
    const bounded = inRow({ one: own, two: own, three: own }, { budget: { tokens: 35 } })
    const play = await Play.of(bounded)
    expect(await play.result()).toMatchObject({ status: 'failed', error: { code: 'budget_tokens' } })
    expect((await play.view()).runs[0]?.reason).toBe('the run has used 40 tokens, and may use 35')
  })

  test('steps: its own model calls, not those of others', async () => {
    const { tool: count } = counted('count')
    const { agent: before } = scripted('before', [{ calls: [call('count', 'b1', { n: 1 })] }, { text: 'x' }], {
      tools: [count],
    })
    const { agent: own } = scripted(
      'own',
      [{ calls: [call('count', 'k1', { n: 1 })] }, { calls: [call('count', 'k2', { n: 1 })] }],
      {
        tools: [count],
        maxSteps: 2,
      },
    )
    const play = await Play.of(inRow({ before, own }))
    expect(await play.result()).toMatchObject({ status: 'failed', error: { code: 'budget_steps' } })
    expect((await play.view()).runs[0]?.reason).toBe('agent own has taken 2 steps, and may take 2')
  })

  test('time: it is cut off, and the node fails by its own rule', async () => {
    const held = gate()
    const wait = tool({ name: 'wait', input: z.object({}), execute: () => held.opened.then(() => 'late') })
    const { agent: own } = scripted('own', [{ calls: [call('wait', 'k1')] }], { tools: [wait], budget: { time: 30 } })
    const play = await Play.of(
      inRow({
        own: { agent: own, onError: { route: 'after' } },
        after: ({ input }: NodeContext<{ code: string }>) => ({ data: input.code }),
      }),
    )
    expect(await play.result()).toMatchObject({ status: 'completed', output: 'budget_time' })
    held.open()
    await play.log()
  })
})

describe('sub-agents of an agent as a node', () => {
  test('a stop ends them on the lanes on which they began', async () => {
    const { tool: careful } = counted('careful', true)
    const { agent: grandchild } = scripted(
      'grandchild',
      [{ calls: [call('careful', 'g1', { n: 1 })] }, { text: 'ok' }],
      { tools: [careful] },
    )
    const { agent: child } = scripted('child', [{ calls: [ask('grandchild', 'k1')] }, { text: 'ok' }], {
      subAgents: [grandchild],
    })
    const { agent: own } = scripted('own', [{ calls: [ask('child', 'c1')] }, { text: 'ok' }], { subAgents: [child] })
    const play = await Play.of(single(own))
    expect(await play.result()).toMatchObject({ status: 'paused' })
    await play.run.stop()
    expect(await play.runtime.run('s', 'r').result()).toMatchObject({ status: 'interrupted' })
    const borders = saidIn(await play.log()).filter(({ chunk }) => chunk.type.startsWith('subagent-'))
    expect(borders.map(({ chunk, origin }) => [chunk.type, origin.agentId, origin.lane])).toEqual([
      ['subagent-start', 'r', 'main/agent:own.1/c1'],
      ['subagent-start', 'child:c1', 'main/agent:own.1/c1/k1'],
      ['subagent-end', 'child:c1', 'main/agent:own.1/c1/k1'],
      ['subagent-end', 'r', 'main/agent:own.1/c1'],
    ])
  })

  test('a node that goes on without them leaves none of them open, and nothing to be answered', async () => {
    const { tool: careful, ran } = counted('careful', true)
    const { agent: child } = scripted('child', [{ calls: [call('careful', 'k1', { n: 1 })] }, { text: 'ok' }], {
      tools: [careful],
    })
    const asks = single(async () => ({ data: await useInterrupt(say('Well?')) }), { id: 'asks' })
    const model = scriptedModel([
      { calls: [ask('child', 'c1'), ask('asks', 'c2'), call('careful', 'c3', { n: 3 })] },
      { text: 'ok' },
    ])
    const asked = gate()
    const play = await Play.of(
      inRow({
        own: {
          run: () =>
            Promise.all([
              useReason({ id: 'asks', model, input: 'x', subAgents: [child, asks], tools: [careful] }),
              useStep('fails', async () => {
                await asked.opened
                throw new Error('no')
              }),
            ]).then(() => ({})),
          onError: { continue: 'without' },
        },
        last: async ({ input }: NodeContext<string>) => ({ data: [input, await useInterrupt(say('And?'))] }),
      }),
    )
    const seen = new Set<string>()
    for await (const { chunk } of play.run.stream()) {
      if (chunk.type === 'tool-approval-request') seen.add(chunk.toolCallId)
      if (chunk.type === 'interrupt') seen.add(chunk.interruptId)
      if (seen.size === 3) break
    }
    asked.open()
    expect(await play.asked()).toEqual(['1.last.1/@.1'])
    const { agents } = await play.view()
    expect(agents.map(({ agentId, status }) => [agentId, status])).toEqual([
      ['child:c1', 'interrupted'],
      ['asks:c2', 'interrupted'],
    ])
    await play.answer('1.last.1/@.1', 'so')
    expect(await play.result()).toMatchObject({ status: 'completed', output: ['without', 'so'] })
    expect(ran).toEqual([])
    await play.log()
  })

  test('a node that is tried again goes on with them, and what they were saying is said once', async () => {
    const words = gate()
    const child = patient(words) as Agent
    const model = scriptedModel([{ calls: [ask('patient', 'c1')] }, { text: 'ok' }])
    const speaks = gate()
    let fails = 0
    const play = await Play.of(
      single({
        run: () =>
          Promise.all([
            useReason({ id: 'asks', model, input: 'x', subAgents: [child] }),
            useStep('fails', async () => {
              if (fails++ > 0) return
              await speaks.opened
              throw new Error('no')
            }),
          ]).then(([{ text }]) => ({ data: text })),
        retry: { attempts: 2, backoff: { first: 1 } },
      }),
    )
    for await (const { chunk } of play.run.stream()) if (chunk.type === 'text-delta') break
    speaks.open()
    for await (const { chunk } of play.run.stream()) if (chunk.type === 'step-discarded') break
    words.open()
    expect(await play.result()).toMatchObject({ status: 'completed', output: 'ok' })
    const { messages, agents } = await play.view()
    const said = messages.find(({ agentId }) => agentId === 'patient:c1')
    expect(said?.parts.map(part => ('text' in part ? part.text : part.type))).toEqual(['step-start', 'one two'])
    expect(agents).toMatchObject([{ agentId: 'patient:c1', status: 'completed', result: 'one two' }])
    await play.log()
  })
})

describe('an agent as a node, cut off after every append', () => {
  test('with tools, an approval, a sub-agent, state and an output: it comes to the same', async () => {
    const { shape, kills } = await cutEverywhere({
      programs() {
        const { tool: careful } = counted('careful', true)
        const add = tool({
          name: 'add',
          input: z.object({ n: z.number() }),
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
        const { agent: own } = scripted(
          'own',
          [
            {
              text: 'Let me see.',
              calls: [call('add', 'k1', { n: 2 }), ask('child', 'c1'), call('careful', 'k2', { n: 2 })],
            },
            { text: '{"total":7}' },
          ],
          {
            tools: [careful, add],
            subAgents: [child],
            output: z.object({ total: z.number() }),
            state: z.object({ total: z.number() }),
            initialState: { total: 5 },
          },
        )
        const last = ({ input }: NodeContext<{ total: number }>) => ({
          data: { own: input.total },
          ui: { message: 'There.' },
        })
        return { workflows: [inRow({ own, last })] }
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
  }, 60_000)
})
