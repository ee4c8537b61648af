import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../define/agent.ts'
import { tool } from '../define/tool.ts'
import { type ScriptedCall, scriptedModel } from '../model/scripted-model.ts'
import { approve, ask, begin, call, counted, give, scripted, soundLog } from './people.fixture.ts'
import { echo, testRuntime } from './test-runtime.fixture.ts'

const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })
const pay = () => call('pay', 'p1', { n: 1 })
const where = () => call('locate', 'l1')
const free = () => call('free', 'f1', { n: 1 })
const child = () => ask('child', 'k1')
const wrong = () => call('pay', 'w1', { n: 'x' })

/** How a run stands whose only step makes these calls. */
async function suspended(...calls: ScriptedCall[]) {
  const payer = scripted('child', [{ calls: [call('pay', 'c1', { n: 2 })] }, { text: 'ok' }], {
    tools: [counted('pay', true).tool],
  })
  const own = scripted('own', [{ calls }, { text: 'Done.' }], {
    tools: [counted('pay', true).tool, counted('free').tool, locate],
    subAgents: [payer.agent],
  })
  const begun = await begin(own.agent)
  return { ...begun, result: await begun.run.result() }
}

describe('a paused run tells why', () => {
  test.each([
    ['an approval', [pay()], 'suspended_client_tool', ['p1']],
    ['a client', [where()], 'suspended_client_tool', ['l1']],
    ['both', [pay(), where()], 'suspended_client_tool', ['p1', 'l1']],
    ['one of several calls', [free(), pay()], 'suspended_step_partial', ['p1']],
    ['one beside a call that did not fit', [wrong(), where()], 'suspended_step_partial', ['l1']],
    ['one beside a sub-agent that waits too', [child(), pay()], 'suspended_step_partial', ['k1', 'p1']],
  ] as const)('it waits for %s', async (_, calls, kind, toolCallIds) => {
    const { result } = await suspended(...calls)
    expect(result.status).toBe('paused')
    expect(result.suspended).toEqual(
      kind === 'suspended_step_partial' ? { kind, toolCallIds, stepId: 'r/main/1' } : { kind, toolCallIds },
    )
  })

  test('only sub-agents wait, with what they wait for', async () => {
    const { runtime, run, result } = await suspended(child(), free())
    expect(result.suspended).toMatchObject({
      kind: 'suspended_awaiting_children',
      children: [
        { agentId: 'child:k1', agentType: 'child', toolCallId: 'k1', pendings: [{ kind: 'approval', id: 'r::c1' }] },
      ],
    })
    await approve(runtime, 'c1')
    expect(await run.result()).toMatchObject({ status: 'completed' })
  })

  test('a question', async () => {
    const runtime = testRuntime({ engine: false })
    const run = await runtime.start({ agent: echo, input: 'go', session: 's', runId: 'r' })
    const writer = await runtime.manager.createWriter('s', { runId: 'r', program: echo.program, agentType: 'echo' })
    await writer.commit([
      { type: 'interrupt', interruptId: 'i1', input: { kind: 'text' } },
      { type: 'interrupt', interruptId: 'i2', input: { kind: 'text' } },
    ])
    await runtime.manager.pauseStream('s')
    await writer.close()
    expect((await run.result()).suspended).toEqual({ kind: 'suspended_interrupt', interruptIds: ['i1', 'i2'] })
  })

  test('as it stands in its latest step', async () => {
    const own = agent({
      name: 'own',
      tools: [counted('pay', true).tool, locate],
      model: scriptedModel([{ calls: [pay()] }, { calls: [where(), pay()] }, { text: 'Done.' }]),
    })
    const { runtime, run } = await begin(own)
    await run.result()
    await approve(runtime, 'p1')
    const { suspended, pendings } = await run.result()
    // A call of the same id gets another in the session.
    expect(suspended).toEqual({ kind: 'suspended_client_tool', toolCallIds: ['l1', 'p1-2'] })
    expect(pendings.map(({ id }) => id)).toEqual(['l1', 'r::p1-2'])
    await give(runtime, 'l1')
    expect((await run.result()).suspended).toEqual({
      kind: 'suspended_step_partial',
      toolCallIds: ['p1-2'],
      stepId: 'r/main/2',
    })
    await approve(runtime, 'p1-2', false)
    const done = await run.result()
    expect([done.status, done.suspended, done.pendings]).toEqual(['completed', undefined, []])
    await soundLog(runtime)
  })
})
