// Approval rules for calls that are already in the log, made by another process and perhaps by other code.

import { Memory, memoryStore } from '@millrace/log'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { approve, call, callsIn, closedIn, scripted, startRun, validLog } from '../../api/pendings.fixture.ts'
import { gate, testRuntime } from '../../api/test-runtime.fixture.ts'
import type { Approval, ApprovalContext } from '../../define/approval.ts'
import { tool } from '../../define/tool.ts'
import { recordingLogger } from '../agent/run-to-end.fixture.ts'

const three = (name: string) => [1, 2, 3].map(n => call(name, `c${n}`, { n }))

describe('an interrupted call whose tool has another rule now', () => {
  const payer = (approval: Approval<{ n: number }> | undefined, execute: (input: { n: number }) => unknown) =>
    scripted('payer', [{ calls: three('pay') }, { text: 'Done.' }], {
      tools: [
        tool({
          name: 'pay',
          inputSchema: z.object({ n: z.number() }),
          ...(approval !== undefined && { approval }),
          execute,
        }),
      ],
      parallelCalls: 1,
    }).agent

  /** The state after another process executed the first of these calls. */
  async function left(approval?: Approval<{ n: number }>) {
    const memory = new Memory()
    const begun = gate()
    const execute = () => {
      begun.open()
      return new Promise(() => {})
    }
    const { runtime } = await startRun(payer(approval, execute), { store: memoryStore(undefined, memory) })
    await begun.opened
    await runtime.close()
    return memoryStore(undefined, memory)
  }

  test.each([
    ['a version without a rule', undefined],
    ['a version whose rule allowed all calls', () => false],
  ] as const)('is requested by the driver that runs it, after %s', async (_, before) => {
    const store = await left(before)
    const ran: number[] = []
    const ruleCalls: [number, string, number][] = []
    const rule = ({ n }: { n: number }, { toolCallId, step }: ApprovalContext) => {
      ruleCalls.push([n, toolCallId, step])
      if (n === 1) return false
      return n === 2 ? { approved: false, reason: 'too much' } : true
    }
    const pay = payer({ rule, timeoutMs: 60_000 }, ({ n }) => {
      ran.push(n)
      return `paid ${n}`
    })
    const nextRuntime = testRuntime({ agents: [pay], store })
    const run = nextRuntime.run('s', 'r')
    expect(await run.result()).toMatchObject({ status: 'paused', pendings: [{ id: 'r::c3' }] })
    expect(ran).toEqual([1])
    expect(await callsIn(nextRuntime)).toMatchObject({
      c1: { output: 'paid 1' },
      c2: { state: 'output-denied', approval: { approved: false, isAutomatic: true, reason: 'too much' } },
      c3: { state: 'approval-requested', approval: { deadline: expect.any(Number) } },
    })
    await approve(nextRuntime, 'c3')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(ran).toEqual([1, 3])
    expect(ruleCalls).toEqual([
      [1, 'c1', 1],
      [2, 'c2', 1],
      [3, 'c3', 1],
    ])
    const log = await validLog(nextRuntime)
    const types = log.filter(({ origin }) => origin.lane === 'main/c2').map(({ chunk }) => chunk.type)
    expect(types.slice(-5)).toEqual([
      'tool-approval-request',
      'tool-approval-response',
      'checkpoint-created',
      'tool-output-denied',
      'checkpoint-created',
    ])
    expect(closedIn(log)).toEqual(['r/main/1', 'r/main/2'])
  })

  test('runs if the rule allows it, and waits for a person if the rule throws', async () => {
    const store = await left()
    const ran: number[] = []
    const rule = ({ n }: { n: number }) => {
      if (n === 2) throw new Error('no idea')
      return { approved: true }
    }
    const nextRuntime = testRuntime({
      agents: [payer(rule, ({ n }) => ran.push(n))],
      store,
      logger: recordingLogger().logger,
    })
    expect((await nextRuntime.run('s', 'r').result()).pendings.map(({ id }) => id)).toEqual(['r::c2'])
    expect(ran).toEqual([1, 3])
    expect(await callsIn(nextRuntime)).toMatchObject({ c1: { approval: { approved: true, isAutomatic: true } } })
    await validLog(nextRuntime)
  })

  test('is not reviewed again by the process that reviewed it', async () => {
    let count = 0
    const rule = () => {
      count++
      return false
    }
    const { run } = await startRun(payer(rule, ({ n }) => n))
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(count).toBe(3)
  })
})
