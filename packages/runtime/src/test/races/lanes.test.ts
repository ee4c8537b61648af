// Waiting lanes next to running ones, and answers at critical moments. Controlled by gates, without time.

import { type LogStore, Memory, memoryStore } from '@millrace/log'
import type { Entry } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Run } from '../../api/run.ts'
import type { Runtime } from '../../api/runtime.ts'
import { type Gate, gate, logOf, testRuntime, typesOf } from '../../api/test-runtime.fixture.ts'
import { type Agent, agent } from '../../define/agent.ts'
import { tool } from '../../define/tool.ts'
import { scriptedModel } from '../../model/scripted-model.ts'

/** A team: one agent that pays after approval, one that works until a gate opens, and their parent. */
function team(ran: string[], { opened }: Gate) {
  const begun = gate()
  const pay = tool({
    name: 'pay',
    inputSchema: z.object({}),
    approval: true,
    execute(_, { toolCallId }) {
      ran.push(toolCallId)
      return 'paid'
    },
  })
  const work = tool({
    name: 'work',
    inputSchema: z.object({}),
    async execute(_, { toolCallId }) {
      begun.open()
      await opened
      ran.push(toolCallId)
      return 'worked'
    },
  })
  const child = (name: string, call: string): Agent =>
    agent({
      name,
      tools: [pay, work],
      model: scriptedModel([
        { calls: [{ name: call, input: {}, id: `${name}-${call}` }] },
        { text: `${name} is done` },
      ]),
    })
  const parent = (...children: Agent[]): Agent => {
    const calls = children.map(({ name }) => ({ name, input: { prompt: 'go' }, id: `c-${name}` }))
    return agent({ name: 'parent', subAgents: children, model: scriptedModel([{ calls }, { text: 'All done.' }]) })
  }
  return { begun, pay, work, child, parent }
}

/** Waits for a chunk of the run. */
async function seen(run: Run, is: (entry: Entry) => boolean): Promise<Entry> {
  // A resumed run is read on.
  for (;;) for await (const entry of run.stream()) if (is(entry)) return entry
}

const isRequest = ({ chunk }: Entry): boolean => chunk.type === 'tool-approval-request'
const isEndOf =
  (agentType: string) =>
  ({ chunk }: Entry): boolean =>
    chunk.type === 'subagent-end' && chunk.agentType === agentType

const approve = (runtime: Runtime, toolCallId: string, approved = true) =>
  runtime.answer('s', { kind: 'approval', id: `r::${toolCallId}`, approved })

describe('an answered lane', () => {
  test('continues while a sub-agent of the same parent runs', async () => {
    const ran: string[] = []
    const door = gate()
    const { child, parent, begun } = team(ran, door)
    const root = parent(child('a', 'pay'), child('b', 'work'))
    const runtime = testRuntime({ agents: [root] })
    const run = await runtime.start({ agent: root, input: 'go', session: 's', runId: 'r' })
    await Promise.all([seen(run, isRequest), begun.opened])
    await approve(runtime, 'a-pay')
    await seen(run, isEndOf('a'))
    expect(ran).toEqual(['a-pay'])
    door.open()
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'All done.' })
    expect(ran).toEqual(['a-pay', 'b-work'])
    expect(typesOf(await logOf(runtime, 's'))).not.toContain('run-paused')
  })

  test('two levels below the parent, with a denial', async () => {
    const ran: string[] = []
    const door = gate()
    const { child, parent, begun } = team(ran, door)
    const middle = agent({
      name: 'middle',
      subAgents: [child('a', 'pay')],
      model: scriptedModel([
        { calls: [{ name: 'a', input: { prompt: 'go' }, id: 'c-a' }] },
        { text: 'middle is done' },
      ]),
    })
    const root = parent(middle, child('b', 'work'))
    const runtime = testRuntime({ agents: [root] })
    const run = await runtime.start({ agent: root, input: 'go', session: 's', runId: 'r' })
    await Promise.all([seen(run, isRequest), begun.opened])
    await approve(runtime, 'a-pay', false)
    await seen(run, isEndOf('middle'))
    expect(ran).toEqual([])
    door.open()
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(ran).toEqual(['b-work'])
  })

  test('continues while another call of the step runs', async () => {
    const ran: string[] = []
    const door = gate()
    const { pay, work, begun } = team(ran, door)
    const calls = ['work', 'pay'].map(name => ({ name, input: {}, id: name }))
    const root = agent({ name: 'root', tools: [pay, work], model: scriptedModel([{ calls }, { text: 'Done.' }]) })
    const runtime = testRuntime({ agents: [root] })
    const run = await runtime.start({ agent: root, input: 'go', session: 's', runId: 'r' })
    await Promise.all([seen(run, isRequest), begun.opened])
    await approve(runtime, 'pay')
    await seen(run, ({ chunk }) => chunk.type === 'tool-output-available' && chunk.toolCallId === 'pay')
    expect(ran).toEqual(['pay'])
    door.open()
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(ran).toEqual(['pay', 'work'])
  })
})

describe('two waiting sub-agents', () => {
  test.each([
    ['both approved', true, true],
    ['one denied', true, false],
  ])('are answered in one tick: %s', async (_, first, second) => {
    const ran: string[] = []
    const { child, parent } = team(ran, gate())
    const root = parent(child('a', 'pay'), child('b', 'pay'))
    const runtime = testRuntime({ agents: [root] })
    const run = await runtime.start({ agent: root, input: 'go', session: 's', runId: 'r' })
    expect((await run.result()).pendings).toHaveLength(2)
    await Promise.all([approve(runtime, 'a-pay', first), approve(runtime, 'b-pay', second)])
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'All done.' })
    expect(ran.toSorted()).toEqual(second ? ['a-pay', 'b-pay'] : ['a-pay'])
  })
})

/** A store that runs an action before a pause is appended. */
function pausing(memory: Memory, before: () => Promise<unknown>): LogStore {
  let isFirst = true
  return new Proxy(memoryStore(undefined, memory), {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      if (name !== 'append') return value.bind(target)
      return async (...call: Parameters<LogStore['append']>) => {
        if (isFirst && call[1].body.includes('"run-paused"')) {
          isFirst = false
          await before()
        }
        return target.append(...call)
      }
    },
  })
}

describe('law 5: between the last read and the pause', () => {
  async function paused(before: (guest: Runtime) => Promise<unknown>) {
    const ran: string[] = []
    const { child, parent } = team(ran, gate())
    const root = parent(child('a', 'pay'), child('b', 'pay'))
    const memory = new Memory()
    const guest = testRuntime({ store: memoryStore(undefined, memory), engine: false })
    const runtime = testRuntime({ agents: [root], store: pausing(memory, () => before(guest)) })
    const run = await runtime.start({ agent: root, input: 'go', session: 's', runId: 'r' })
    return { ran, runtime, run }
  }

  test('one answer continues its lane before the run pauses for the other', async () => {
    const { ran, runtime, run } = await paused(guest => approve(guest, 'a-pay'))
    expect(await run.result()).toMatchObject({ status: 'paused', pendings: [{ id: 'r::b-pay' }] })
    expect(ran).toEqual(['a-pay'])
    expect(typesOf(await logOf(runtime, 's')).filter(type => type === 'run-paused')).toHaveLength(1)
    await approve(runtime, 'b-pay')
    expect(await run.result()).toMatchObject({ status: 'completed' })
  })

  test('all answers prevent the pause', async () => {
    const { ran, runtime, run } = await paused(async guest => {
      await approve(guest, 'a-pay')
      await approve(guest, 'b-pay', false)
    })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(ran).toEqual(['a-pay'])
    expect(typesOf(await logOf(runtime, 's'))).not.toContain('run-paused')
  })

  test('a stop ends the run without a pause', async () => {
    const { ran, runtime, run } = await paused(guest => guest.stop('s', 'r'))
    expect(await run.result()).toMatchObject({ status: 'interrupted' })
    expect(ran).toEqual([])
    expect(typesOf(await logOf(runtime, 's'))).not.toContain('run-paused')
  })

  test('a request that interrupts ends the run, and the requested run follows', async () => {
    const { runtime, run } = await paused(guest =>
      guest.start({
        agent: 'agent:parent@1',
        session: 's',
        runId: 'other',
        whenBusy: 'interrupt-previous',
        input: 'that',
      }),
    )
    expect(await run.result()).toMatchObject({ status: 'interrupted' })
    expect(await runtime.run('s', 'other').result()).toMatchObject({ status: 'paused' })
  })
})
