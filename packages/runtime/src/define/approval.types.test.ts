// Type tests of approvals, client tools and sub-agents. Checked by tsc. Definitions that do not compile also throw.

import type { Json } from '@millrace/protocol'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Answer } from '../api/answer.ts'
import type { RunResult } from '../api/result.ts'
import type { PauseReason } from '../api/suspension.ts'
import { scriptedModel } from '../model/scripted-model.ts'
import { agent, type OutputOfAgent, type ToolNames } from './agent.ts'
import type { Approval, ApprovalContext, ApprovalDecision } from './approval.ts'
import { type SubAgent, subAgent } from './sub-agent.ts'
import { type ClientTool, type Tool, type ToolInput, type ToolOutput, tool } from './tool.ts'

const model = scriptedModel([])
const input = z.object({ city: z.string(), days: z.string().transform(Number) })

describe('a client tool', () => {
  test('is defined by `client: true` and has the types of its schemas', () => {
    const open = tool({ name: 'open', inputSchema: input, client: true })
    const typed = tool({
      name: 'typed',
      inputSchema: input,
      client: true,
      outputSchema: z.object({ at: z.string().transform(Number) }),
    })
    expectTypeOf(open).toExtend<ClientTool<'open'>>()
    expectTypeOf<ToolInput<typeof open>>().toEqualTypeOf<{ city: string; days: string }>()
    expectTypeOf<ToolOutput<typeof open>>().toEqualTypeOf<Json>()
    // The output is stored as the client sends it.
    expectTypeOf<ToolOutput<typeof typed>>().toEqualTypeOf<{ at: string }>()
    const testAgent = agent({ name: 'own', model, tools: [open, typed] })
    expectTypeOf<ToolNames<typeof testAgent>>().toEqualTypeOf<'open' | 'typed'>()
    expectTypeOf<OutputOfAgent<typeof testAgent>>().toEqualTypeOf<undefined>()
    expect([open.executor, typed.executor]).toEqual(['client', 'client'])
  })

  test('has neither execute nor finish', () => {
    // @ts-expect-error not allowed with client: true, because a client executes the tool
    expect(() => tool({ name: 'x', inputSchema: input, client: true, execute: () => 1 })).toThrow(
      /execute: not allowed with client: true/,
    )
    // @ts-expect-error what a client gives is no output of the run
    expect(() => tool({ name: 'x', inputSchema: input, client: true, finish: true })).toThrow(
      /finish: not allowed with client: true/,
    )
    // @ts-expect-error neither a client nor the server would run it
    expect(() => tool({ name: 'x', inputSchema: input })).toThrow(/execute: expected a function/)
    // @ts-expect-error it is of a client, or it is not said
    expect(() => tool({ name: 'x', inputSchema: input, client: 'yes', execute: () => 1 })).toThrow()
  })
})

describe('an approval', () => {
  test('gets the parsed input of its tool', () => {
    const testTool = tool({
      name: 'own',
      inputSchema: input,
      approval(callInput, context) {
        expectTypeOf(callInput).toEqualTypeOf<{ city: string; days: number }>()
        expectTypeOf(context).toEqualTypeOf<ApprovalContext>()
        return callInput.days > 3
      },
      execute: ({ days }) => days,
    })
    tool({
      name: 'timed',
      inputSchema: input,
      client: true,
      approval: { rule: async ({ days }) => ({ approved: days < 3, reason: 'short' }), timeoutMs: 1000 },
    })
    subAgent(agent({ name: 'child', model }), { inputSchema: input, approval: ({ days }) => days > 3 })
    expectTypeOf(testTool).toExtend<Tool<'own'>>()
    expectTypeOf<ApprovalDecision>().toEqualTypeOf<boolean | { readonly approved: boolean; readonly reason?: string }>()
    expect(typeof testTool.approval).toBe('function')
  })

  test('accepts only valid rules and timeouts', () => {
    const execute = () => 1
    // @ts-expect-error a rule gives a verdict
    tool({ name: 'x', inputSchema: input, approval: () => 'yes', execute })
    // @ts-expect-error the input has no such field
    tool({ name: 'x', inputSchema: input, approval: ({ country }) => country === 'CH', execute })
    // @ts-expect-error it is a number
    tool({ name: 'x', inputSchema: input, approval: ({ days }) => days.startsWith('1'), execute })
    // @ts-expect-error there is no such approval
    expect(() => tool({ name: 'x', inputSchema: input, approval: 'always', execute })).toThrow(/approval/)
    // @ts-expect-error a time is a number
    expect(() => tool({ name: 'x', inputSchema: input, approval: { timeoutMs: '1s' }, execute })).toThrow(/timeoutMs/)
    expectTypeOf<Approval<{ n: number }>>().toExtend<Approval<never>>()
  })
})

describe('a sub-agent', () => {
  test('is an agent or the result of subAgent()', () => {
    const child = agent({ name: 'child', model })
    const sub = subAgent(child, {
      name: 'expert',
      inputSchema: input,
      prompt: ({ city, days }) => `${city} ${days + 1}`,
    })
    expectTypeOf(sub).toEqualTypeOf<SubAgent<'expert', { city: string; days: string }, typeof child>>()
    agent({ name: 'parent', model, subAgents: [child, sub] })
    subAgent(child, {
      prompt(callInput) {
        expectTypeOf(callInput).toEqualTypeOf<{ prompt: string }>()
        return callInput.prompt
      },
    })
    const choose = tool({ name: 'x', inputSchema: input, client: true })
    // @ts-expect-error a tool is no agent
    expect(() => agent({ name: 'parent', model, subAgents: [choose] })).toThrow()
    // @ts-expect-error a prompt is text
    subAgent(child, { inputSchema: input, prompt: ({ days }) => days })
    // @ts-expect-error the input has no such field
    subAgent(child, { inputSchema: input, prompt: ({ country }) => country })
  })
})

test('requires the fields of its kind in an answer', () => {
  expectTypeOf<Answer['kind']>().toEqualTypeOf<'approval' | 'tool-result' | 'interrupt'>()
  const answers: Answer[] = [
    { kind: 'approval', id: 'r::c', approved: true },
    { kind: 'tool-result', id: 'c', output: { any: ['json'] } },
    { kind: 'tool-result', id: 'c', error: 'no', code: 'aborted' },
    { kind: 'interrupt', id: 'i', response: null },
    // @ts-expect-error whether it is approved must be said
    { kind: 'approval', id: 'r::c' },
    // @ts-expect-error an approval has no output
    { kind: 'approval', id: 'r::c', approved: true, output: 1 },
    // @ts-expect-error a result is an output or an error
    { kind: 'tool-result', id: 'c' },
    // @ts-expect-error functions are no JSON
    { kind: 'tool-result', id: 'c', output: () => 1 },
  ]
  expect(answers).toHaveLength(8)
  expectTypeOf<RunResult['suspended']>().toEqualTypeOf<PauseReason | undefined>()
  expectTypeOf<PauseReason['kind']>().toEqualTypeOf<
    | 'suspended_client_tool'
    | 'suspended_step_partial'
    | 'suspended_awaiting_children'
    | 'suspended_interrupt'
    | 'suspended_mixed'
  >()
})
