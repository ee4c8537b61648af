import { describe, expect, test } from 'vitest'
import type { Chunk } from '../catalogue/chunk.ts'
import { ADA, commit, newFoldedLog } from './entries.fixture.ts'
import type { ToolPart, ToolState } from './view.ts'

const toolCallId = 'c1'
const CHUNKS_BY_STATE: Record<ToolState, Chunk[]> = {
  'input-streaming': [{ type: 'tool-input-start', toolCallId, toolName: 't', executor: 'client' }],
  'input-available': [{ type: 'tool-input-available', toolCallId, toolName: 't', input: { q: 1 }, executor: 'client' }],
  'approval-requested': [{ type: 'tool-approval-request', toolCallId, approvalId: 'a1', input: { q: 1 } }],
  'approval-responded': [{ type: 'tool-approval-response', toolCallId, approvalId: 'a1', approved: true }],
  'output-available': [{ type: 'tool-output-available', toolCallId, output: 'out' }],
  'output-error': [{ type: 'tool-output-error', toolCallId, errorText: 'boom', code: 'x' }],
  'output-denied': [{ type: 'tool-output-denied', toolCallId, reason: 'no' }],
}
const approved: ToolState[] = ['input-streaming', 'input-available', 'approval-requested', 'approval-responded']
const STATE_SEQUENCES: ToolState[][] = [
  ['input-streaming'],
  ['input-streaming', 'input-available'],
  ['input-available', 'approval-requested'],
  approved,
  ['input-available', 'output-available'],
  [...approved, 'output-available'],
  ['input-streaming', 'output-error'],
  ['input-available', 'approval-requested', 'output-error'],
  ['input-available', 'approval-requested', 'output-denied'],
]

function walk(states: readonly ToolState[]) {
  const log = newFoldedLog()
  for (const state of states) for (const chunk of CHUNKS_BY_STATE[state]) log.write(chunk)
  log.write(commit)
  const part = () => log.parts()[0] as ToolPart
  return { ...log, part }
}

describe('the states of a tool call', () => {
  test.each(STATE_SEQUENCES)('a call passes through %s', (...states) => {
    const { part, reports } = walk(states as ToolState[])
    expect(part().state).toBe(states.at(-1))
    expect(reports).toEqual([])
  })

  test.each(['output-available', 'output-error', 'output-denied'] as const)(
    'no chunk changes a call in the state %s',
    last => {
      const { part, reports, write } = walk(
        last === 'output-denied' ? ['input-available', 'approval-requested', last] : ['input-available', last],
      )
      const before = part()
      const chunks = Object.values(CHUNKS_BY_STATE).flat()
      for (const chunk of [...chunks, { type: 'tool-input-delta', toolCallId, delta: '{' } as Chunk]) write(chunk)
      expect(part()).toBe(before)
      expect(reports).toEqual(Array(8).fill('out-of-order'))
    },
  )

  test('a late delta or start does not reset or rename a call', () => {
    const { part, write, reports } = walk(['input-streaming', 'input-available'])
    write({ type: 'tool-input-delta', toolCallId, delta: 'x' })
    write({ type: 'tool-input-start', toolCallId, toolName: 'other' })
    expect(part()).toMatchObject({ state: 'input-available', toolName: 't', input: { q: 1 } })
    expect(reports).toEqual(['out-of-order', 'out-of-order'])
  })

  test('an output for an unknown call is dropped', () => {
    const { parts, write, reports } = newFoldedLog()
    write({ type: 'tool-output-available', toolCallId: 'unknown', output: 1 })
    write({ type: 'tool-output-error', toolCallId: 'unknown', errorText: 'x' }, ADA)
    write({ type: 'tool-approval-request', toolCallId: 'unknown', approvalId: 'a', input: {} })
    expect(parts()).toEqual([])
    expect(reports).toEqual(['out-of-order', 'out-of-order', 'out-of-order'])
  })

  test('an output can neither answer an approval request nor settle a denied call', () => {
    const { part, write, reports } = walk(['input-available', 'approval-requested'])
    write({ type: 'tool-output-available', toolCallId, output: 1 }, ADA)
    write({ type: 'tool-approval-response', toolCallId, approvalId: 'another', approved: true }, ADA)
    expect(part().state).toBe('approval-requested')
    write({ type: 'tool-approval-response', toolCallId, approvalId: 'a1', approved: false, reason: 'too dear' }, ADA)
    write({ type: 'tool-output-available', toolCallId, output: 1 }, ADA)
    expect(reports).toEqual(['out-of-order', 'out-of-order', 'out-of-order'])
    write({ type: 'tool-output-denied', toolCallId })
    expect(part()).toMatchObject({
      state: 'output-denied',
      approval: { id: 'a1', approved: false, reason: 'too dear' },
    })
  })

  test('the input of the approval request becomes the input of the call', () => {
    const { part } = walk(['input-available'])
    const { part: askedPart, write } = walk(['input-available'])
    write({ type: 'tool-approval-request', toolCallId, approvalId: 'a1', input: { q: 2 }, deadline: 99 })
    expect(part().input).toEqual({ q: 1 })
    expect(askedPart()).toMatchObject({ input: { q: 2 }, approval: { id: 'a1', deadline: 99 } })
  })

  test('an input error ends in output-error and keeps the partial input', () => {
    const { part, write } = walk(['input-streaming'])
    write({ type: 'tool-input-delta', toolCallId, delta: '{"q":[1,2' })
    write({ type: 'tool-input-error', toolCallId, errorText: 'cut off' })
    expect(part()).toMatchObject({ state: 'output-error', errorText: 'cut off', input: { q: [1] } })
    expect(part()).not.toHaveProperty('inputText')
  })

  test('a client claims a call; its outcome ends the claim', () => {
    const { part, write } = walk(['input-available'])
    write({ type: 'tool-claimed', toolCallId, until: 50, by: 'tab 1' }, ADA)
    expect(part().claim).toEqual({ until: 50, by: 'tab 1' })
    write({ type: 'tool-output-available', toolCallId, output: 1 }, ADA)
    expect(part()).not.toHaveProperty('claim')
  })

  test('a client call has its deadline', () => {
    const { write, parts } = newFoldedLog()
    write({ type: 'tool-input-available', toolCallId, toolName: 't', input: {}, executor: 'client', deadline: 99 })
    expect(parts()).toMatchObject([{ state: 'input-available', deadline: 99 }])
  })

  test('a dynamic tool has its own part type', () => {
    const { write, parts } = newFoldedLog()
    write({ type: 'tool-input-start', toolCallId, toolName: 'mcp', dynamic: true, title: 'Search' })
    expect(parts()).toMatchObject([{ type: 'dynamic-tool', title: 'Search' }])
  })
})
