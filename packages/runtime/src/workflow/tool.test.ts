// Workflows as tools: an agent, or a model that a workflow asks, calls one, and it works for the call in the same run.

import { memoryStore } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/agent.ts'
import { chunksOf, heardModel } from '../agent/play.fixture.ts'
import { subAgent } from '../agent/sub-agent.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { useNodeState, useWorkflowState } from '../hooks/use-state.ts'
import { useStep } from '../hooks/use-step.ts'
import { scriptedModel } from '../model/scripted.ts'
import { approve, ask, begin, call, callsIn, counted, saidIn, scripted, soundLog } from '../run/people.fixture.ts'
import { gate, stage, until } from '../run/stage.fixture.ts'
import { tool } from '../tool/tool.ts'
import { cutEverywhere } from './cut.fixture.ts'
import type { NodeContext } from './node.ts'
import { inRow, Play, say, single, wired } from './play.fixture.ts'
import { type Workflow, workflow } from './workflow.ts'

const trip = workflow({
  id: 'trip',
  input: z.object({ city: z.string(), days: z.string().transform(Number) }),
  nodes: {
    plan: ({ input }: NodeContext<{ city: string; days: number }>) => ({
      data: { city: input.city, nights: input.days - 1 },
      ui: { message: `To ${input.city}` },
    }),
    book: ({ input }: NodeContext<{ city: string; nights: number }>) => ({ data: { ...input, isBooked: true } }),
  },
  edges: [
    ['start', 'plan'],
    ['plan', 'book'],
    ['book', 'end'],
  ],
})

/** A workflow that says what it was told. */
const parrot = workflow({
  id: 'parrot',
  nodes: { say: ({ input }: NodeContext<string>) => ({ data: `${input}!` }) },
  edges: [
    ['start', 'say'],
    ['say', 'end'],
  ],
})

/** An agent that makes one call, and says that it is done. */
const caller = (of: Workflow | ReturnType<typeof subAgent>, calls: readonly object[], more = {}) =>
  scripted('parent', [{ calls: calls as never }, { text: 'Done.' }], { subAgents: [of as never], ...more }).agent

describe('a workflow as a tool', () => {
  test('is told to the model by its id or another name, with the schema of its input, or a prompt', async () => {
    const { model, heard } = heardModel([{ text: 'Done.' }])
    const other = subAgent(trip, {
      name: 'weekend',
      description: 'Two days in a city',
      input: z.object({ city: z.string() }),
      prompt: ({ city }) => ({ city, days: '2' }),
    })
    const { run } = await begin(agent({ name: 'parent', model, subAgents: [trip, parrot, other] }))
    await run.result()
    expect(heard[0]?.tools).toMatchObject([
      { type: 'function', name: 'trip', inputSchema: { properties: { city: {}, days: { type: 'string' } } } },
      { type: 'function', name: 'parrot', inputSchema: { required: ['prompt'] } },
      { type: 'function', name: 'weekend', description: 'Two days in a city', inputSchema: { required: ['city'] } },
    ])
  })

  test('works for the call in the same run: its own id, lane, message and steps; its output is that of the call', async () => {
    const own = scripted(
      'parent',
      [
        {
          calls: [
            call('trip', 'c1', { city: 'Ulm', days: '3' }),
            call('weekend', 'c2', { city: 'Bonn' }),
            ask('parrot', 'c3', 'Hello'),
          ],
        },
        { text: 'Done.' },
      ],
      {
        subAgents: [
          trip as Workflow,
          parrot,
          subAgent(trip, {
            name: 'weekend',
            input: z.object({ city: z.string() }),
            prompt: ({ city }) => ({ city, days: '2' }),
          }),
        ],
      },
    ).agent
    const { runtime, run } = await begin(own)
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.', output: undefined })
    const log = await soundLog(runtime)
    expect(chunksOf(log, 'subagent-start')).toEqual([
      { type: 'subagent-start', agentId: 'trip:c1', agentType: 'trip', toolCallId: 'c1', lane: 'main/c1' },
      { type: 'subagent-start', agentId: 'trip:c2', agentType: 'trip', toolCallId: 'c2', lane: 'main/c2' },
      { type: 'subagent-start', agentId: 'parrot:c3', agentType: 'parrot', toolCallId: 'c3', lane: 'main/c3' },
    ])
    const { c1, c2, c3 } = await callsIn(runtime)
    expect([c1?.output, c2?.output, c3?.output]).toEqual([
      { city: 'Ulm', nights: 2, isBooked: true },
      { city: 'Bonn', nights: 1, isBooked: true },
      'Hello!',
    ])
    expect(chunksOf(log, 'subagent-end')).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ agentId: 'trip:c1', status: 'completed', result: c1?.output }),
        expect.objectContaining({ agentId: 'parrot:c3', status: 'completed', result: 'Hello!' }),
      ]),
    )
    const { view } = await runtime.view('s')
    expect(view.messages.filter(({ agentId }) => agentId === 'trip:c1')).toMatchObject([
      { parent: { toolCallId: 'c1' }, parts: [{ type: 'text', text: 'To Ulm' }] },
    ])
    const steps = saidIn(log).filter(({ chunk, origin }) => chunk.type === 'status' && origin.agentId === 'trip:c1')
    expect(steps.map(({ origin }) => [origin.lane, origin.node, origin.step])).toEqual([
      ['main/c1', 'plan', 1],
      ['main/c1', 'book', 2],
    ])
    // It names no session again, and its output is not the run's.
    expect(chunksOf(log, 'session')).toEqual([])
    expect(chunksOf(log, 'output')).toEqual([])
  })

  test('where its last node has no data, the call is told its words, or nothing', async () => {
    const secret = () => ({ data: 'secret' })
    const says = inRow(
      { secret, first: () => ({ ui: { message: 'One. ' } }), last: () => ({ ui: { message: 'Two.' } }) },
      { id: 'says' },
    )
    const silent = inRow({ secret, last: () => {} }, { id: 'silent' })
    const calls = [ask('says', 'c1', 'Go.'), ask('silent', 'c2', 'Go.')]
    const { runtime, run } = await begin(caller(says, calls, { subAgents: [says, silent] }))
    await run.result()
    const { c1, c2 } = await callsIn(runtime)
    expect([c1?.output, c2?.output]).toEqual(['One. Two.', null])
  })

  test('state is its own: what another call of it has set, or the workflow that calls it, it does not see', async () => {
    const counter = single(
      () => {
        const [count, setCount] = useWorkflowState('count', 0)
        const [own, setOwn] = useNodeState(0)
        setCount(count + 1)
        setOwn(own + 1)
        return { data: { count, own } }
      },
      { id: 'counter' },
    )
    const model = scriptedModel([{ calls: [ask('counter', 'k1'), ask('counter', 'k2')] as never }, { text: 'Done.' }])
    const play = await Play.of(
      inRow({
        first: async () => {
          const [, setCount] = useWorkflowState('count', 0)
          setCount(7)
          const { toolResults } = await useReason({ model, input: 'Count', subAgents: [counter] })
          return { data: toolResults.map(({ output = null }) => output) }
        },
        last: ({ input }: NodeContext<unknown>) => {
          const [count] = useWorkflowState('count', 0)
          return { data: { count, input } }
        },
      }),
    )
    expect(await play.result()).toMatchObject({
      status: 'completed',
      output: {
        count: 7,
        input: [
          { count: 0, own: 0 },
          { count: 0, own: 0 },
        ],
      },
    })
    await play.log()
  })

  test('what it fails with is the outcome of the call, and the agent goes on', async () => {
    const broken = single(
      () => {
        throw new Error('secret')
      },
      { id: 'broken' },
    )
    const { runtime, run, told } = await begin(caller(broken, [ask('broken', 'c1')]))
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.' })
    const { c1 } = await callsIn(runtime)
    expect(c1).toMatchObject({ state: 'output-error', errorText: 'broken failed: node node failed' })
    const log = await soundLog(runtime)
    expect(chunksOf(log, 'tool-output-error')).toMatchObject([{ code: 'subagent_failed' }])
    expect(chunksOf(log, 'subagent-end')).toMatchObject([{ status: 'failed', reason: 'node node failed' }])
    expect(JSON.stringify(log)).not.toContain('secret')
    expect(told.some(({ message }) => message === 'a sub-agent failed')).toBe(true)
  })

  test('an input that does not fit is refused before it begins, also where only the workflow can tell', async () => {
    const loose = subAgent(trip, { name: 'loose', input: z.object({ city: z.string() }) })
    const own = scripted(
      'parent',
      [{ calls: [call('trip', 'c1', { city: 1 }), call('loose', 'c2', { city: 'Ulm' })] }, { text: 'Done.' }],
      { subAgents: [trip as Workflow, loose] },
    ).agent
    const { runtime, run } = await begin(own)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    const { c1, c2 } = await callsIn(runtime)
    expect([c1?.state, c2?.state]).toEqual(['output-error', 'output-error'])
    expect(c2?.errorText).toContain('days')
    const log = await soundLog(runtime)
    expect(chunksOf(log, 'subagent-start').map(({ toolCallId }) => toolCallId)).toEqual(['c2'])
  })

  test('its questions pause the whole run, and another process goes on with the answer', async () => {
    const done: string[] = []
    const asking = inRow(
      {
        first: async () => {
          await useStep('once', () => void done.push('step'))
          const tone = await useInterrupt(say('Which tone?', { id: 'tone' }))
          return { data: tone }
        },
        last: ({ input }: NodeContext<string>) => ({ data: `In ${input}.` }),
      },
      { id: 'asking' },
    )
    const own = caller(asking, [ask('asking', 'c1')])
    const { runtime, run } = await begin(own)
    const paused = await run.result()
    expect(paused).toMatchObject({
      status: 'paused',
      suspended: { kind: 'suspended_awaiting_children', children: [{ agentId: 'asking:c1', toolCallId: 'c1' }] },
    })
    const [pending] = paused.pendings
    expect(pending).toMatchObject({ kind: 'interrupt' })
    const log = await soundLog(runtime)
    expect(chunksOf(log, 'run-paused')).toMatchObject([
      { awaits: [{ kind: 'interrupt' }, { kind: 'children', id: 'r', agentIds: ['asking:c1'] }] },
    ])
    await runtime.answer('s', { kind: 'interrupt', id: pending?.id ?? '', response: 'grey' })
    expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect((await callsIn(runtime))['c1']?.output).toBe('In grey.')
    expect(done).toEqual(['step'])
    await soundLog(runtime)
  })

  test('approval of the call itself is asked before it begins', async () => {
    const careful = subAgent(parrot, { name: 'careful', approval: ({ prompt }) => prompt.startsWith('do') })
    const own = caller(careful, [ask('careful', 'c1'), ask('careful', 'c2', 'be')])
    const { runtime, run } = await begin(own)
    expect(await run.result()).toMatchObject({ status: 'paused' })
    expect(chunksOf(await soundLog(runtime), 'subagent-start').map(({ toolCallId }) => toolCallId)).toEqual(['c2'])
    await approve(runtime, 'c1')
    expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'completed' })
    expect((await callsIn(runtime))['c1']?.output).toBe('do c1!')
  })

  test('while it waits its siblings go on, and looking at it again starts none of its code', async () => {
    let starts = 0
    const asking = single(
      async () => {
        starts++
        return { data: await useInterrupt(say('Well?')) }
      },
      { id: 'asking' },
    )
    const { tool: careful, ran } = counted('careful', true)
    const { agent: child } = scripted(
      'child',
      [{ calls: [call('careful', 'k1', { n: 1 })] }, { calls: [call('careful', 'k2', { n: 2 })] }, { text: 'ok' }],
      { tools: [careful] },
    )
    const held = gate()
    const slow = single(
      async () => {
        await useStep('held', () => held.opened)
      },
      { id: 'slow' },
    )
    const { agent: busy } = scripted(
      'parent',
      [{ calls: [ask('asking', 'c1'), ask('child', 'c2'), ask('slow', 'c3')] }, { text: 'Done.' }],
      { subAgents: [asking, child, slow] },
    )
    const { runtime, run } = await begin(busy)
    await until(run, 'tool-approval-request')
    await approve(runtime, 'k1')
    for await (const { chunk } of run.stream()) {
      if (chunk.type === 'tool-approval-request' && chunk.toolCallId === 'k2') break
    }
    await approve(runtime, 'k2')
    for await (const { chunk } of run.stream()) {
      if (chunk.type === 'subagent-end' && chunk.agentId === 'child:c2') break
    }
    expect(ran).toEqual([1, 2])
    expect(starts).toBe(1)
    held.open()
    const { pendings } = await run.result()
    await runtime.answer('s', { kind: 'interrupt', id: pendings[0]?.id ?? '', response: 'so' })
    expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'completed' })
    expect((await callsIn(runtime))['c1']?.output).toBe('so')
    await soundLog(runtime)
  })

  test('a stop ends it, with what works for it, on the lanes on which they began', async () => {
    const { model } = heardModel([{ calls: [ask('inner', 'k1')] as never }, { text: 'ok' }])
    const inner = single(async () => ({ data: await useInterrupt(say('Well?')) }), { id: 'inner' })
    const outer = single(
      async () => ({ data: (await useReason({ model, input: 'Ask', id: 'asks', subAgents: [inner] })).text }),
      { id: 'outer' },
    )
    const { runtime, run } = await begin(caller(outer, [ask('outer', 'c1')]))
    expect(await run.result()).toMatchObject({ status: 'paused' })
    await run.stop()
    expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'interrupted' })
    const log = saidIn(await soundLog(runtime))
    const borders = log.filter(({ chunk }) => chunk.type.startsWith('subagent-'))
    const lane = 'main/c1/useReason:asks.1/k1'
    expect(borders.map(({ chunk, origin }) => [chunk.type, origin.agentId, origin.lane])).toEqual([
      ['subagent-start', 'r', 'main/c1'],
      ['subagent-start', 'outer:c1', lane],
      ['subagent-end', 'outer:c1', lane],
      ['subagent-end', 'r', 'main/c1'],
    ])
  })

  test('its budgets are its own: steps, tokens and time, and those of whom it works for', async () => {
    const loop = workflow({
      id: 'loop',
      maxSteps: 3,
      nodes: { again: () => ({ condition: 'more' }) },
      edges: [
        ['start', 'again'],
        ['again', 'again', { when: 'more', max: 100 }],
        ['again', 'end', { otherwise: true }],
      ],
    })
    const greedy = workflow({
      id: 'greedy',
      budget: { tokens: 20 },
      nodes: {
        asks: async () => {
          for (let n = 0; n < 9; n++) {
            await useReason({
              model: scriptedModel([{ text: 'x', usage: { input: 5, output: 5 } }]),
              input: 'x',
            })
          }
        },
      },
      edges: [
        ['start', 'asks'],
        ['asks', 'end'],
      ],
    })
    const own = caller(loop as Workflow, [ask('loop', 'c1'), ask('greedy', 'c2')], { subAgents: [loop, greedy] })
    const { runtime, run } = await begin(own)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    const { c1, c2 } = await callsIn(runtime)
    expect(c1?.errorText).toContain('3')
    expect(c2?.errorText).toMatch(/workflow greedy has used 20 tokens/)
  })

  test('one that no model could be told of is refused where it is made', () => {
    const odd = { '~standard': { version: 1, vendor: 'own', validate: (value: unknown) => ({ value }) } } as const
    const own = single(() => {}, { id: 'own', input: odd })
    expect(() => subAgent(own)).toThrow(/tool own: input/)
    expect(subAgent(own, { jsonSchema: { type: 'object' } }).jsonSchema).toEqual({ type: 'object' })
    expect(() => subAgent(single(() => {}, { id: 'a.b' }))).toThrow(/name/)
    expect(() => agent({ name: 'a', model: scriptedModel([]), subAgents: [{} as never] })).toThrow(
      /subAgents\.0: expected what agent\(\), workflow\(\) or subAgent\(\) gives/,
    )
  })
})

describe('a workflow as a tool, wherever it is called', () => {
  test('ids of calls may be as long and as odd as a log takes', async () => {
    const asking = single(async () => ({ data: await useInterrupt(say('Well?', { id: 'i'.repeat(64) })) }), {
      id: 'asking',
    })
    const id = ' /:é%'.repeat(50)
    const { runtime, run } = await begin(caller(asking, [ask('asking', id)]))
    const { status, pendings } = await run.result()
    expect(status).toBe('paused')
    await runtime.answer('s', { kind: 'interrupt', id: pendings[0]?.id ?? '', response: 'so' })
    expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'completed', text: 'Done.' })
    const outputs = Object.values(await callsIn(runtime)).map(({ output }) => output)
    expect(outputs).toEqual(['so'])
  })

  test('it may go on with another workflow, and ask in several branches', async () => {
    const other = single(({ input }: NodeContext<string>) => ({ data: `other ${input}` }), { id: 'other' })
    const asks = (question: string) => async () => ({ data: await useInterrupt(say(question)) })
    const forks = wired(
      {
        first: () => ({}),
        a: asks('A?'),
        b: asks('B?'),
        joins: ({ input }: NodeContext<{ a: string; b: string }>) => ({
          data: `${input.a} ${input.b}`,
          transitionTo: 'other',
        }),
      },
      [
        ['start', 'first'],
        ['first', ['a', 'b'], { join: 'joins' }],
        ['a', 'joins'],
        ['b', 'joins'],
        ['joins', 'end'],
      ],
      { id: 'forks' },
    )
    const { runtime, run } = await begin(caller(forks, [ask('forks', 'c1')]), { workflows: [other] })
    const { pendings } = await run.result()
    expect(pendings).toHaveLength(2)
    for (const { id } of pendings) {
      await runtime.answer('s', { kind: 'interrupt', id, response: id.includes('1.a.1') ? 'yes' : 'no' })
    }
    expect(await runtime.run('s', 'r').result()).toMatchObject({ status: 'completed' })
    expect((await callsIn(runtime))['c1']?.output).toBe('other yes no')
    await soundLog(runtime)
  })

  test('on shutdown it stops at its next commit, and another process goes on from there', async () => {
    const store = memoryStore()
    const held = gate()
    const began = gate()
    const done: string[] = []
    const walks = inRow(
      {
        first: async () => {
          await useStep('first', async () => {
            began.open()
            await held.opened
            done.push('first')
          })
        },
        last: async () => ({ data: await useStep('last', () => `${done.push('last')}`) }),
      },
      { id: 'walks' },
    )
    const own = caller(walks, [ask('walks', 'c1')])
    const { runtime } = await begin(own, { store, engine: { pollMs: 10, graceMs: 60_000 } })
    await began.opened
    const closed = runtime.close()
    held.open()
    await closed
    expect(done).toEqual(['first'])
    const other = stage({ store, agents: [own] })
    expect(await other.run('s', 'r').result()).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(done).toEqual(['first', 'last'])
    const log = await soundLog(other)
    expect(chunksOf(log, 'step-discarded')).toEqual([])
  })

  test('what its hooks gave is not kept when it has ended', async () => {
    const large = single(
      async () => {
        const [, setState] = useWorkflowState('large', '')
        setState('state '.repeat(100))
        await useStep('large', () => 'step '.repeat(100))
        return { data: 1 }
      },
      { id: 'large' },
    )
    const kept: string[] = []
    const look = tool({
      name: 'look',
      input: z.object({}),
      async execute(_, { sessionId }) {
        const { view } = await begun.runtime.manager.view(sessionId)
        kept.push(JSON.stringify(view.internal?.hooks ?? []))
        return 'ok'
      },
    })
    const { agent: own } = scripted(
      'parent',
      [{ calls: [ask('large', 'c1')] }, { calls: [call('look', 'c2')] }, { text: 'Done.' }],
      { subAgents: [large], tools: [look] },
    )
    const begun = await begin(own)
    expect(await begun.run.result()).toMatchObject({ status: 'completed' })
    expect(kept).toHaveLength(1)
    expect(kept[0]).not.toMatch(/state state|step step/)
  })
})

describe('a workflow as a tool, cut off after every append', () => {
  test('two deep, with a question, an approval, steps and words: it comes to the same', async () => {
    const { shape, kills } = await cutEverywhere({
      programs() {
        const { tool: careful } = counted('careful', true)
        const inner = inRow(
          {
            asks: async ({ input }: NodeContext<string>) => {
              const [seen, setSeen] = useWorkflowState('seen', 0)
              setSeen(seen + 1)
              const key = await useStep('key', ({ idempotencyKey }) => idempotencyKey)
              const well = await useInterrupt(say(`${input}?`, { id: 'well' }))
              return { data: { well, key, seen } }
            },
            says: ({ input }: NodeContext<{ well: string }>) => ({
              data: input,
              ui: { message: `Well: ${input.well}` },
            }),
          },
          { id: 'inner' },
        )
        const model = scriptedModel(({ turnAnswers }) =>
          turnAnswers === 0
            ? { text: 'I ask', calls: [ask('inner', 'k1', 'So'), call('careful', 'k2', { n: 1 })] as never }
            : { text: 'All said' },
        )
        const outer = single(
          async () => {
            const { text, toolResults } = await useReason({
              model,
              input: 'Ask',
              id: 'asks',
              subAgents: [inner],
              tools: [careful],
            })
            return { data: { text, outputs: toolResults.map(({ output = null }) => output) } }
          },
          { id: 'outer' },
        )
        return { agents: [caller(outer, [ask('outer', 'c1')])] }
      },
      start: { agent: 'agent:parent@1' },
      answer: pending =>
        pending.kind === 'interrupt'
          ? { kind: 'interrupt', id: pending.id, response: 'yes' }
          : { kind: 'approval', id: pending.id, approved: true },
    })
    expect(kills).toBeGreaterThan(15)
    expect(shape.run).toMatchObject([{ status: 'completed' }])
    expect(shape.agents).toMatchObject([
      { agentId: 'outer:c1', parentId: 'r', status: 'completed' },
      { agentId: 'inner:k1', parentId: 'outer:c1', status: 'completed', result: { well: 'yes', seen: 0 } },
    ])
  }, 60_000)

  test('with branches: one asks, one is an agent whose tool needs approval, one fails the first time', async () => {
    const { shape, kills } = await cutEverywhere({
      programs() {
        const { tool: careful } = counted('careful', true)
        const { agent: inner } = scripted(
          'inner',
          [{ text: 'I try', calls: [call('careful', 'k1', { n: 1 })] }, { text: 'tried' }],
          { tools: [careful] },
        )
        let tries = 0
        const branches = wired(
          {
            first: () => ({ data: 'go' }),
            a: async () => ({ data: await useInterrupt(say('A?')) }),
            b: inner,
            c: {
              run: async ({ input }: NodeContext<string>) => {
                const once = await useStep('once', () => `${input} once`)
                if (tries++ === 0) throw new Error('the first time')
                return { data: once }
              },
              retry: { attempts: 2, backoff: { first: 1 } },
            },
            joins: ({ input }: NodeContext<object>) => ({ data: input as never, ui: { message: 'Joined.' } }),
          },
          [
            ['start', 'first'],
            ['first', ['a', 'b', 'c'], { join: 'joins' }],
            ['a', 'joins'],
            ['b', 'joins'],
            ['c', 'joins'],
            ['joins', 'end'],
          ],
          { id: 'branches' },
        )
        return { agents: [caller(branches, [ask('branches', 'c1')])] }
      },
      start: { agent: 'agent:parent@1' },
      answer: ({ kind, id }) =>
        kind === 'interrupt' ? { kind, id, response: 'yes' } : { kind: 'approval', id, approved: true },
    })
    expect(kills).toBeGreaterThan(15)
    expect(shape.run).toMatchObject([{ status: 'completed' }])
    expect(shape.agents).toMatchObject([
      { agentId: 'branches:c1', status: 'completed', result: { a: 'yes', b: 'tried', c: 'go once' } },
    ])
  }, 60_000)
})
