import type { Chunk, Entry, Origin } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { SubAgentTimes } from './sub-agent-times.ts'

const ROOT = 'r'
const guest = { guest: 'ann' }

/** The active time of `child:c` after these entries. */
function timeAt(now: number, entries: readonly (readonly [at: number, by: string | Origin, chunk: Chunk])[]): number {
  const waits = new SubAgentTimes()
  for (const [timestamp, by, chunk] of entries) {
    const origin = typeof by === 'string' ? { runId: ROOT, lane: 'main', agentId: by, agentType: 'a', step: 1 } : by
    waits.add({ sequence: 1, timestamp, origin, chunk } satisfies Entry)
  }
  return waits.activeTime('child:c', now)
}

const start = (agentType: string, toolCallId: string): Chunk => {
  return { type: 'subagent-start', agentId: `${agentType}:${toolCallId}`, agentType, toolCallId }
}
const end = (agentType: string, toolCallId: string): Chunk => {
  return { type: 'subagent-end', agentId: `${agentType}:${toolCallId}`, agentType, toolCallId, status: 'completed' }
}
const toolCall = (toolCallId: string, executor: 'server' | 'client' | 'provider' = 'server'): Chunk => {
  return { type: 'tool-input-available', toolCallId, toolName: 't', input: {}, executor }
}
const request = (toolCallId: string): Chunk => {
  return { type: 'tool-approval-request', toolCallId, approvalId: `r::${toolCallId}`, input: {} }
}
const response = (toolCallId: string, approved = true): Chunk => {
  return { type: 'tool-approval-response', toolCallId, approvalId: `r::${toolCallId}`, approved }
}
const output = (toolCallId: string): Chunk => ({ type: 'tool-output-available', toolCallId, output: 1 })
const paused: Chunk = { type: 'run-paused', awaits: [] }
const resumed: Chunk = { type: 'run-resumed', mode: 'continue' }

const child = 'child:c'

describe('a sub-agent', () => {
  test('is active from its start', () => {
    expect(timeAt(90, [])).toBe(0)
    expect(timeAt(90, [[10, ROOT, start('child', 'c')]])).toBe(80)
  })

  test('is not active while all its open calls wait for people or clients', () => {
    const entries = [
      [10, ROOT, start('child', 'c')],
      [20, child, toolCall('k1')],
      [20, child, toolCall('k2', 'client')],
      [20, child, toolCall('k3', 'provider')],
      [20, child, request('k1')],
    ] as const
    expect(timeAt(90, entries)).toBe(10)
    expect(timeAt(90, [...entries, [50, guest, output('k2')]])).toBe(10)
    expect(timeAt(90, [...entries, [50, guest, response('k1')]])).toBe(50)
    expect(timeAt(90, [...entries, [50, guest, response('k1')], [60, child, output('k1')]])).toBe(20)
    expect(timeAt(90, [...entries, [50, child, { type: 'step-start' }]])).toBe(50)
  })

  test('a workflow is not active while its interrupts wait, and each hook continues on its own', () => {
    const on = (lane: string) => ({ runId: ROOT, lane, agentId: child, agentType: 'a', step: 1, node: 'n' })
    const question = (interruptId: string): Chunk => ({ type: 'interrupt', interruptId, input: { kind: 'text' } })
    const answer = (interruptId: string): Chunk => ({ type: 'interrupt-response', interruptId, response: 'so' })
    const entries = [
      [10, ROOT, start('child', 'c')],
      [20, on('main/c/a'), question('q1')],
      [20, on('main/c/b'), toolCall('k1')],
      [20, on('main/c/b'), request('k1')],
    ] as const
    expect(timeAt(90, entries)).toBe(10)
    expect(timeAt(90, [...entries, [50, guest, answer('q1')]])).toBe(10)
    expect(timeAt(90, [...entries, [50, guest, answer('q1')], [60, guest, response('k1')]])).toBe(40)
    // It is active while a model streams for another hook, and the interrupts stay open.
    const streaming = [...entries, [50, on('main/c/z'), { type: 'step-start' }]] as const
    expect(timeAt(90, streaming)).toBe(50)
    expect(timeAt(90, [...streaming, [60, on('main/c/z'), { type: 'step-finish' }]])).toBe(20)
    expect(timeAt(90, [...streaming, [60, on('main/c/z'), { type: 'step-discarded', reason: 'x' }]])).toBe(20)
  })

  test('is active while any of its calls runs', () => {
    const entries = [
      [10, ROOT, start('child', 'c')],
      [20, child, toolCall('k1')],
      [20, child, toolCall('k2')],
      [20, child, request('k1')],
    ] as const
    expect(timeAt(90, entries)).toBe(80)
    expect(timeAt(90, [...entries, [40, child, { ...output('k2'), preliminary: true } as Chunk]])).toBe(80)
    expect(timeAt(90, [...entries, [40, child, output('k2')]])).toBe(30)
  })

  test('waits for a client after an approval, and does not wait after a denial', () => {
    const entries = [
      [10, ROOT, start('child', 'c')],
      [20, child, toolCall('k1', 'client')],
      [20, child, request('k1')],
    ] as const
    expect(timeAt(90, [...entries, [50, guest, response('k1')]])).toBe(10)
    expect(timeAt(90, [...entries, [50, guest, response('k1', false)]])).toBe(50)
  })

  test('waits while its own sub-agents wait', () => {
    const below = 'below:k1'
    const entries = [
      [10, ROOT, start('child', 'c')],
      [20, child, toolCall('k1')],
      [20, child, start('below', 'k1')],
      [30, below, toolCall('g1')],
      [30, below, request('g1')],
    ] as const
    expect(timeAt(90, entries)).toBe(20)
    expect(timeAt(90, [...entries, [40, guest, response('g1')], [60, below, output('g1')]])).toBe(70)
    expect(timeAt(90, [...entries, [40, child, end('below', 'k1')]])).toBe(70)
  })

  test('waits while the run is paused, and counts no time twice', () => {
    const entries = [
      [10, ROOT, start('child', 'c')],
      [20, child, toolCall('k1')],
      [20, child, request('k1')],
      [40, ROOT, paused],
    ] as const
    expect(timeAt(90, entries)).toBe(10)
    // Another interrupt was answered.
    expect(timeAt(90, [...entries, [60, ROOT, resumed]])).toBe(10)
    expect(timeAt(90, [...entries, [50, guest, response('k1')], [60, ROOT, resumed]])).toBe(40)
    const idle = [
      [10, ROOT, start('child', 'c')],
      [40, ROOT, paused],
      [60, ROOT, resumed],
    ] as const
    expect(timeAt(90, idle)).toBe(60)
  })
})
