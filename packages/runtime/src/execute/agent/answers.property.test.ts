// Property: any program of calls with approvals, client tools and sub-agents, answered in any order, ends. Each call
// runs at most once, and each model gets one outcome per call.

import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import { closedIn, startRun, validLog } from '../../api/pendings.fixture.ts'
import { type Agent, agent } from '../../define/agent.ts'
import { type SubAgent, subAgent } from '../../define/sub-agent.ts'
import { tool } from '../../define/tool.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { chunksOf } from './run-to-end.fixture.ts'

type Kind = 'free' | 'asked' | 'client' | 'askedClient' | 'allowed' | 'forbidden'
type Call = { readonly kind: Kind } | { readonly kind: 'child' | 'askedChild'; readonly program: Program }
type Program = readonly (readonly Call[])[]

const kinds = fc.constantFrom<Kind>('free', 'asked', 'client', 'askedClient', 'allowed', 'forbidden')
const plain = fc.record({ kind: kinds })
const steps = (call: fc.Arbitrary<Call>): fc.Arbitrary<Program> =>
  fc.array(fc.array(call, { minLength: 1, maxLength: 3 }), { maxLength: 2 })
const childOf = (program: fc.Arbitrary<Program>) =>
  fc.record({ kind: fc.constantFrom('child' as const, 'askedChild' as const), program })
const grandchild = steps(plain)
const child = steps(fc.oneof({ weight: 3, arbitrary: plain }, { weight: 1, arbitrary: childOf(grandchild) }))
const programs = steps(fc.oneof(plain, childOf(child)))

/** Effects outside of the log. */
class Ledger {
  readonly ran: string[] = []
  readonly rules: string[] = []
  /** Number of model calls of each agent. */
  readonly questionCounts = new Map<string, number>()
}

const input = z.object({ key: z.string() })

function toolsOf({ ran, rules }: Ledger) {
  const execute = ({ key }: { key: string }) => {
    ran.push(key)
    return `ran ${key}`
  }
  const decide = (approved: boolean) => ({
    rule: ({ key }: { key: string }) => {
      rules.push(key)
      return { approved }
    },
  })
  return [
    tool({ name: 'free', inputSchema: input, execute }),
    tool({ name: 'asked', inputSchema: input, approval: true, execute }),
    tool({ name: 'client', inputSchema: input, client: true }),
    tool({ name: 'askedClient', inputSchema: input, client: true, approval: true }),
    tool({ name: 'allowed', inputSchema: input, approval: decide(true), execute }),
    tool({ name: 'forbidden', inputSchema: input, approval: decide(false), execute }),
  ]
}

/** The agent of a program, identified by its path. */
function agentOf(program: Program, path: string, ledger: Ledger): Agent {
  const subAgents: SubAgent[] = []
  const callsByStep = program.map((calls, step) =>
    calls.map((one, index) => {
      const key = `${path}.${step}.${index}`
      // Like providers that repeat their ids.
      const id = `call_${index}`
      if (!('program' in one)) return { name: one.kind, input: { key }, id }
      const name = key.replaceAll('.', '_')
      const approval = one.kind === 'askedChild'
      subAgents.push(subAgent(agentOf(one.program, key, ledger), { name, inputSchema: input, approval }))
      return { name, input: { key }, id }
    }),
  )
  const model = scriptedModel(({ options, turnAnswers }) => {
    ledger.questionCounts.set(path, (ledger.questionCounts.get(path) ?? 0) + 1)
    expectPaired(options)
    return turnAnswers < callsByStep.length ? { calls: callsByStep[turnAnswers] ?? [] } : { text: `done ${path}` }
  })
  return agent({ name: `agent-${path.replaceAll('.', '-')}`, model, tools: toolsOf(ledger), subAgents })
}

/** Expects every call in the prompt to have an outcome, and every outcome a call. */
function expectPaired({ prompt }: LanguageModelV4CallOptions): void {
  const parts: { readonly type: string; readonly toolCallId?: string }[] = []
  for (const { content } of prompt) if (typeof content !== 'string') parts.push(...content)
  const idsOf = (type: string) => parts.flatMap(part => (part.type === type ? [part.toolCallId] : []))
  const calls = idsOf('tool-call')
  expect(new Set(calls).size).toBe(calls.length)
  expect(idsOf('tool-result').sort()).toEqual(calls.sort())
}

/** The expected executions, rule evaluations and model calls if these keys are approved. */
function expected(program: Program, path: string, isApproved: (key: string) => boolean) {
  const all = { ran: [] as string[], rules: [] as string[], questionCounts: new Map([[path, program.length + 1]]) }
  for (const [step, calls] of program.entries()) {
    for (const [index, one] of calls.entries()) {
      const key = `${path}.${step}.${index}`
      if ('program' in one) {
        if (one.kind === 'askedChild' && !isApproved(key)) continue
        const below = expected(one.program, key, isApproved)
        all.ran.push(...below.ran)
        all.rules.push(...below.rules)
        for (const [question, times] of below.questionCounts) all.questionCounts.set(question, times)
      }
      if (one.kind === 'allowed' || one.kind === 'forbidden') all.rules.push(key)
      if (one.kind === 'free' || one.kind === 'allowed' || (one.kind === 'asked' && isApproved(key))) all.ran.push(key)
    }
  }
  return all
}

/** Decisions of people and clients, in order. */
const decisions = fc.infiniteStream(fc.record({ which: fc.nat(99), isFine: fc.boolean(), thenWaits: fc.boolean() }))

test('law 5: requests each answer once, continues when answered, and runs nothing that was not allowed', async () => {
  await fc.assert(
    fc.asyncProperty(programs, decisions, async (program, decided) => {
      const ledger = new Ledger()
      const { runtime, run } = await startRun(agentOf(program, '0', ledger))
      const approved = new Set<string>()
      let result = await run.result()
      for (const { which, isFine, thenWaits } of decided) {
        if (result.status !== 'paused') break
        const { view } = await runtime.view('s')
        const pending = view.pendings[which % view.pendings.length]
        if (pending === undefined || pending.kind === 'interrupt') {
          result = await run.result()
          continue
        }
        const { id, kind, part } = pending
        if (kind === 'approval') {
          if (isFine) approved.add((part.input as { key: string }).key)
          await runtime.answer('s', { kind: 'approval', id, approved: isFine, input: part.input ?? null })
        } else if (isFine) await runtime.answer('s', { kind: 'tool-result', id, output: 'given' })
        else await runtime.answer('s', { kind: 'tool-result', id, error: 'not today' })
        // Or the next answer arrives while the run continues.
        if (thenWaits) result = await run.result()
      }
      expect(result).toMatchObject({ status: 'completed', text: 'done 0' })
      const { ran, rules, questionCounts } = expected(program, '0', key => approved.has(key))
      expect(ledger.ran.sort()).toEqual(ran.sort())
      expect(ledger.rules.sort()).toEqual(rules.sort())
      expect(Object.fromEntries(ledger.questionCounts)).toEqual(Object.fromEntries(questionCounts))
      const log = await validLog(runtime)
      const closed = closedIn(log)
      expect(new Set(closed).size).toBe(closed.length)
      expect(closed).toHaveLength([...questionCounts.values()].reduce((sum, times) => sum + times, 0))
      expect(chunksOf(log, 'subagent-start')).toHaveLength(questionCounts.size - 1)
      expect(chunksOf(log, 'subagent-end').every(({ status }) => status === 'completed')).toBe(true)
      expect(chunksOf(log, 'run-resumed')).toHaveLength(chunksOf(log, 'run-paused').length)
      await runtime.close()
    }),
    { numRuns: multiplied(40) },
  )
})
