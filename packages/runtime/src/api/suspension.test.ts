import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../define/agent.ts'
import { tool } from '../define/tool.ts'
import { type ScriptedCall, scriptedModel } from '../model/scripted-model.ts'
import { approve, call, counted, scripted, sendResult, startRun, subAgentCall, validLog } from './pendings.fixture.ts'
import { echo, testRuntime } from './test-runtime.fixture.ts'

const locate = tool({ name: 'locate', inputSchema: z.object({}), client: true })
const pay = () => call('pay', 'p1', { n: 1 })
const where = () => call('locate', 'l1')
const free = () => call('free', 'f1', { n: 1 })
const child = () => subAgentCall('child', 'k1')
const wrong = () => call('pay', 'w1', { n: 'x' })

/** The pause reason of a run whose only step makes these calls. */
async function suspended(...calls: ScriptedCall[]) {
  const payer = scripted('child', [{ calls: [call('pay', 'c1', { n: 2 })] }, { text: 'ok' }], {
    tools: [counted('pay', true).tool],
  })
  const scriptedAgent = scripted('own', [{ calls }, { text: 'Done.' }], {
    tools: [counted('pay', true).tool, counted('free').tool, locate],
    subAgents: [payer.agent],
  })
  const begun = await startRun(scriptedAgent.agent)
  return { ...begun, result: await begun.run.result() }
}

describe('the reason of a pause', () => {
  test.each([
    ['an approval', [pay()], 'suspended_client_tool', ['p1']],
    ['a client tool', [where()], 'suspended_client_tool', ['l1']],
    ['an approval and a client tool', [pay(), where()], 'suspended_client_tool', ['p1', 'l1']],
    ['one of several calls', [free(), pay()], 'suspended_step_partial', ['p1']],
    ['a call beside one with an invalid input', [wrong(), where()], 'suspended_step_partial', ['l1']],
    ['a call beside a waiting sub-agent', [child(), pay()], 'suspended_step_partial', ['k1', 'p1']],
  ] as const)('names the calls that wait: %s', async (_, calls, kind, toolCallIds) => {
    const { result } = await suspended(...calls)
    expect(result.status).toBe('paused')
    expect(result.suspended).toEqual(
      kind === 'suspended_step_partial' ? { kind, toolCallIds, stepId: 'r/main/1' } : { kind, toolCallIds },
    )
  })

  test('names the sub-agents if only they wait', async () => {
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

  test('names the interrupts if only they wait', async () => {
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

  test('names the calls of the latest step', async () => {
    const testAgent = agent({
      name: 'own',
      tools: [counted('pay', true).tool, locate],
      model: scriptedModel([{ calls: [pay()] }, { calls: [where(), pay()] }, { text: 'Done.' }]),
    })
    const { runtime, run } = await startRun(testAgent)
    await run.result()
    await approve(runtime, 'p1')
    const { suspended, pendings } = await run.result()
    // A call with a used id gets another one.
    expect(suspended).toEqual({ kind: 'suspended_client_tool', toolCallIds: ['l1', 'p1-2'] })
    expect(pendings.map(({ id }) => id)).toEqual(['l1', 'r::p1-2'])
    await sendResult(runtime, 'l1')
    expect((await run.result()).suspended).toEqual({
      kind: 'suspended_step_partial',
      toolCallIds: ['p1-2'],
      stepId: 'r/main/2',
    })
    await approve(runtime, 'p1-2', false)
    const done = await run.result()
    expect([done.status, done.suspended, done.pendings]).toEqual(['completed', undefined, []])
    await validLog(runtime)
  })
})
