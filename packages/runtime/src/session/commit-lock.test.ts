import { memoryStore, StreamManager } from '@millrace/log'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { call, scripted, startRun, subAgentCall } from '../api/pendings.fixture.ts'
import type { RunResult } from '../api/result.ts'
import type { Agent } from '../define/agent.ts'
import { tool } from '../define/tool.ts'
import type { Workflow } from '../define/workflow.ts'
import { useWorkflowState } from '../execute/hooks/use-state.ts'
import { useStep } from '../execute/hooks/use-step.ts'
import { single, WorkflowTestRun } from '../execute/workflow/workflow-test-run.fixture.ts'
import { CommitLock } from './commit-lock.ts'
import { Session } from './session.ts'

/** Counts how often a driver reads its own entries back during a run. */
async function readsOf(code: () => Promise<RunResult>): Promise<number> {
  const reads = vi.spyOn(StreamManager.prototype, 'upTo')
  try {
    expect((await code()).status).toBe('completed')
    return reads.mock.calls.length
  } finally {
    reads.mockRestore()
  }
}

const note = tool({ name: 'note', inputSchema: z.object({}), execute: () => 'noted' })

/** An agent that calls a tool in each of its steps. */
const agentWithSteps = (steps: number) =>
  scripted(
    'noter',
    [...Array.from({ length: steps }, (_, n) => ({ calls: [call('note', `c${n}`)] })), { text: 'Done.' }],
    {
      tools: [note],
    },
  ).agent

/** An agent that calls a sub-agent in each of its steps. */
const agentWithChildren = (steps: number) => {
  const child = scripted(
    'child',
    Array.from({ length: steps }, () => ({ text: 'ok' })),
  ).agent
  const answers = Array.from({ length: steps }, (_, n) => ({ calls: [subAgentCall('child', `c${n}`)] }))
  return scripted('parent', [...answers, { text: 'Done.' }], { subAgents: [child] }).agent
}

/** A workflow with a node that commits the results of steps. */
const workflowWithSteps = (steps: number) =>
  single(async () => {
    const [, setCount] = useWorkflowState('count', 0)
    for (let n = 0; n < steps; n++) {
      await useStep(`step${n}`, () => n)
      setCount(n)
    }
  })

const playAgent = (own: Agent) => readsOf(async () => (await startRun(own)).run.result())
const playWorkflow = (own: Workflow) => readsOf(async () => (await WorkflowTestRun.start(own)).result())

test('a run reads none of its entries back', async () => {
  for (const steps of [1, 5]) {
    expect(await playAgent(agentWithSteps(steps))).toBe(0)
    expect(await playAgent(agentWithChildren(steps))).toBe(0)
    expect(await playWorkflow(workflowWithSteps(steps))).toBe(0)
  }
})

test('starts a commit after the previous one, with a session that contains it', async () => {
  const manager = new StreamManager({ store: memoryStore() })
  await manager.createStream('s')
  await manager.append('s', 'ann', { type: 'run-requested', runId: 'r', program: 'agent:a@1' })
  const writer = await manager.createWriter('s', { runId: 'r', agentType: 'a', step: 1 })
  const session = await Session.open(manager, 's', { writer })
  const lock = new CommitLock(session)
  const seen: unknown[] = []
  const count = async () => {
    const { state = 0 } = session
    seen.push(state)
    await writer.commit([{ type: 'state-snapshot', state: Number(state) + 1 }])
  }
  const failed = lock.run(() => Promise.reject(new Error('the work fails')))
  const counts = [lock.run(count), lock.run(count)]
  await lock.idle()
  expect(seen).toEqual([0, 1])
  await expect(failed).rejects.toThrow('the work fails')
  await Promise.all(counts)
  expect((await session.current()).state).toBe(2)
  await writer.close()
  await manager.close()
})
