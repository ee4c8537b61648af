import type { Message, ToolPart } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { agent } from '../../define/agent.ts'
import { subAgent } from '../../define/sub-agent.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import type { AgentExecution } from '../program-execution.ts'
import { subAgentId, subAgentWait } from './sub-agent-wait.ts'

const model = scriptedModel([])
const inner = agent({ name: 'inner', model })
const outer = agent({ name: 'outer', model, subAgents: [inner] })

type Call = Partial<ToolPart> & { readonly toolCallId: string }

const approvalCall = (id: string, deadline?: number): Call => ({
  toolCallId: id,
  state: 'approval-requested',
  approval: { id: `r::${id}`, ...(deadline !== undefined && { deadline }) },
})
const client = (toolCallId: string, deadline: number): Call => ({ toolCallId, executor: 'client', deadline })
const delegated: Call = { toolCallId: 'below', toolName: 'inner' }

/**
 * The pendings of the outer agent at time 1000, with these open calls of it and of the inner agent. Undefined: not
 * started.
 */
function waitOf(outerCalls: readonly Call[] | undefined, innerCalls?: readonly Call[]) {
  const calls = new Map([
    [subAgentId('r', 'outer', 'c1'), outerCalls],
    [subAgentId('r', 'inner', 'below'), innerCalls],
  ])
  const partOf = (call: Call) => ({ type: 'tool', state: 'input-available', executor: 'server', ...call })
  const session = {
    hasAgent: (_: string, agentId: string) => calls.get(agentId) !== undefined,
    message: (_: string, agentId: string) =>
      ({ parts: [{ type: 'step-start' }, ...(calls.get(agentId) ?? []).map(partOf)] }) as unknown as Message,
  } as AgentExecution['session']
  return subAgentWait({ session, runId: 'r', clock: () => 1000 }, subAgent(outer), 'c1')
}

test('returns the pendings and the earliest deadline if all open calls wait', () => {
  expect(waitOf([approvalCall('a'), client('b', 3000), approvalCall('c', 2000)])).toEqual({
    outcome: 'waiting',
    on: ['approval:r::a', 'client-tool:b', 'approval:r::c'],
    until: 2000,
  })
  expect(waitOf([approvalCall('a')])?.until).toBe(Number.POSITIVE_INFINITY)
})

test('includes nested sub-agents', () => {
  const on = ['approval:r::a', 'approval:r::x']
  expect(waitOf([approvalCall('a', 3000), delegated], [approvalCall('x', 2000)])).toMatchObject({ on, until: 2000 })
  expect(waitOf([approvalCall('a', 1500), delegated], [approvalCall('x', 2000)])).toMatchObject({ on, until: 1500 })
})

const ended: Call = { toolCallId: 'a', state: 'output-available' }
const denied: Call = { toolCallId: 'a', state: 'approval-responded', approval: { id: 'r::a', approved: false } }
const runnable: Call = { toolCallId: 'a', toolName: 'other' }

test.each<[string, readonly Call[] | undefined, (readonly Call[])?]>([
  ['has not started', undefined],
  ['has no calls', []],
  ['has only calls with an outcome', [ended]],
  ['has a call that can run', [approvalCall('b'), runnable]],
  ['has a call to settle as denied', [approvalCall('b'), denied]],
  ['has a call whose deadline has passed', [approvalCall('b'), approvalCall('a', 1000)]],
  ['has a child to start', [approvalCall('b'), delegated]],
  ['has a child that can continue', [approvalCall('b'), delegated], [approvalCall('x'), runnable]],
  ['has a child that has ended', [approvalCall('b'), delegated], [ended]],
])('returns undefined for a child that %s, because it can continue', (_, outerCalls, innerCalls) => {
  expect(waitOf(outerCalls, innerCalls)).toBe(undefined)
})
