// Approvals, client tools and sub-agents in a run.

import { Memory, memoryStore } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../define/agent.ts'
import { subAgent } from '../define/sub-agent.ts'
import { tool } from '../define/tool.ts'
import { settled } from '../drive/clock.fixture.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { codeOf, testRuntime } from './test-runtime.fixture.ts'

const ran: string[] = []
const pay = tool({
  name: 'pay',
  inputSchema: z.object({ amount: z.number() }),
  approval: true,
  execute: ({ amount }) => {
    ran.push(`pay ${amount}`)
    return `paid ${amount}`
  },
})

describe('approvals', () => {
  const payer = agent({
    name: 'payer',
    tools: [pay],
    model: scriptedModel(({ turnAnswers }) =>
      turnAnswers === 0
        ? { text: 'Paying.', calls: [{ name: 'pay', input: { amount: 5 }, id: 'c1' }] }
        : { text: 'Done.' },
    ),
  })

  test('executes a call after its approval with the approved input', async () => {
    const runtime = testRuntime({ agents: [payer] })
    const run = await runtime.start({ agent: payer, input: 'go', session: 's', runId: 'r' })
    const paused = await run.result()
    expect(paused).toMatchObject({
      status: 'paused',
      suspended: { kind: 'suspended_client_tool', toolCallIds: ['c1'] },
      pendings: [{ kind: 'approval', id: 'r::c1', part: { input: { amount: 5 } } }],
    })
    expect((await runtime.view('s')).view.runs[0]?.awaits).toEqual([
      { kind: 'approval', id: 'r::c1', toolCallId: 'c1', toolName: 'pay' },
    ])
    expect(ran).toEqual([])
    expect(await codeOf(runtime.answer('s', { kind: 'tool-result', id: 'c1', output: 'paid' }))).toBe(
      'answer_wrong_kind',
    )
    expect(
      await codeOf(runtime.answer('s', { kind: 'approval', id: 'r::c1', approved: true, input: { amount: 6 } })),
    ).toBe('answer_invalid')
    await runtime.answer('s', { kind: 'approval', id: 'r::c1', approved: true, input: { amount: 5 } })
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Paying.Done.' })
    expect(ran.splice(0)).toEqual(['pay 5'])
    await expect(runtime.answer('s', { kind: 'approval', id: 'r::c1', approved: false })).rejects.toMatchObject({
      code: 'answer_already_settled',
      message: expect.stringMatching(/^r::c1: /),
    })
  })

  test.each([
    ['answered', 'completed'],
    ['asked to stop', 'interrupted'],
  ] as const)('result() of a paused run that was %s waits for the next driver', async (action, status) => {
    const memory = new Memory()
    const openStore = () => memoryStore(undefined, memory)
    const first = testRuntime({ agents: [payer], store: openStore() })
    await (await first.start({ agent: payer, input: 'go', session: 's', runId: 'r' })).result()
    await first.close()
    const server = testRuntime({ agents: [payer], store: openStore(), engine: false })
    if (action === 'answered') await server.answer('s', { kind: 'approval', id: 'r::c1', approved: true })
    else expect(await server.stop('s', 'r')).toBe(true)
    const result = server.run('s', 'r').result()
    // It has read everything and waits.
    const view = await server.view('s')
    expect(await Promise.race([result, settled().then(() => view.ticket.run?.paused)])).toBe(true)
    testRuntime({ agents: [payer], store: openStore() })
    expect(await result).toMatchObject({ status, pendings: [] })
    expect(ran.splice(0)).toEqual(action === 'answered' ? ['pay 5'] : [])
  })

  test('does not execute a denied call, and the model gets the denial', async () => {
    const runtime = testRuntime({ agents: [payer] })
    const run = await runtime.start({ agent: payer, input: 'go', session: 's', runId: 'r' })
    await run.result()
    await runtime.answer('s', { kind: 'approval', id: 'r::c1', approved: false, reason: 'too much' })
    const result = await run.result()
    expect(result.status).toBe('completed')
    expect(result.message?.parts.find(part => 'toolCallId' in part)).toMatchObject({
      state: 'output-denied',
      approval: { approved: false, reason: 'too much' },
    })
    expect(ran).toEqual([])
  })
})

test('continues with the result of a client tool', async () => {
  const locate = tool({
    name: 'locate',
    inputSchema: z.object({}),
    client: true,
    outputSchema: z.object({ city: z.string() }),
  })
  const guide = agent({
    name: 'guide',
    tools: [locate],
    model: scriptedModel(({ turnAnswers }) =>
      turnAnswers === 0 ? { calls: [{ name: 'locate', input: {}, id: 'c1' }] } : { text: 'There.' },
    ),
  })
  const runtime = testRuntime({ agents: [guide] })
  const run = await runtime.start({ agent: guide, input: 'where', session: 's', runId: 'r' })
  expect(await run.result()).toMatchObject({ status: 'paused', suspended: { toolCallIds: ['c1'] } })
  for (const forMs of [0, 0.5, 3_600_001, Number.NaN]) {
    expect(await codeOf(runtime.claim('s', 'c1', { forMs }))).toBe('validation_failed')
  }
  await runtime.claim('s', 'c1', { forMs: 1000, by: 'tab 1' })
  expect(await codeOf(runtime.claim('s', 'c1', { forMs: 1000, by: 'tab 2' }))).toBe('answer_claimed')
  expect(await codeOf(runtime.answer('s', { kind: 'tool-result', id: 'c1', output: 7 }))).toBe('answer_invalid')
  await runtime.answer('s', { kind: 'tool-result', id: 'c1', output: { city: 'Bern' } })
  expect(await run.result()).toMatchObject({ status: 'completed', text: 'There.' })
})

test('runs sub-agents in parallel, which wait independently and return results to the parent', async () => {
  const child = (name: string) =>
    agent({
      name,
      tools: [pay],
      model: scriptedModel(({ turnAnswers }) =>
        turnAnswers === 0
          ? { calls: [{ name: 'pay', input: { amount: 1 }, id: `${name}-pay` }] }
          : { text: `${name} done` },
      ),
    })
  const parent = agent({
    name: 'parent',
    subAgents: [child('a'), subAgent(child('b'), { description: 'the other' })],
    model: scriptedModel(({ turnAnswers, options }) =>
      turnAnswers === 0
        ? {
            calls: [
              { name: 'a', input: { prompt: 'do a' }, id: 'ca' },
              { name: 'b', input: { prompt: 'do b' }, id: 'cb' },
            ],
          }
        : { text: JSON.stringify(options.prompt.at(-1)?.content) },
    ),
  })
  const runtime = testRuntime({ agents: [parent] })
  const run = await runtime.start({ agent: parent, input: 'go', session: 's', runId: 'r' })
  const paused = await run.result()
  expect(paused).toMatchObject({
    status: 'paused',
    suspended: {
      kind: 'suspended_awaiting_children',
      children: [{ agentId: 'a:ca', pendings: [{ id: 'r::a-pay' }] }, { agentId: 'b:cb' }],
    },
  })
  await runtime.answer('s', { kind: 'approval', id: 'r::a-pay', approved: true })
  expect(await run.result()).toMatchObject({ suspended: { children: [{ agentId: 'b:cb' }] } })
  await runtime.answer('s', { kind: 'approval', id: 'r::b-pay', approved: false })
  const done = await run.result()
  expect(done).toMatchObject({ status: 'completed' })
  expect(done.text).toContain('a done')
  expect(ran.splice(0)).toEqual(['pay 1'])
})
