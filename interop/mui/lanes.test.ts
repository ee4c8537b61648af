// Cases that the random runs do not reach: texts of several lanes in one message, and approvals of sub-agents.

import { chatMessagesOf } from '@millrace/dialects/mui'
import { type Chunk, type Entry, foldLog, messageIdOf } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { messageIn, readThrough } from './read-through.fixture.ts'

const runId = 'run-1'

/** Entries of lanes; `child` is a sub-agent's. */
const entries = (...written: readonly (readonly [lane: string, chunk: Chunk])[]): Entry[] =>
  written.map(([lane, chunk], i) => ({
    sequence: i + 1,
    timestamp: 1_700_000_000_000 + i,
    origin: { runId, lane, agentId: lane === 'child' ? 'child' : runId, agentType: 'writer', step: 1 },
    chunk,
  }))

const partsOf = (live: readonly Entry[]) =>
  chatMessagesOf(foldLog(live).view()).find(({ id }) => id === messageIdOf(runId, runId))?.parts

const BEGUN = [
  ['main', { type: 'run-started', program: 'workflow:w@1' }],
  ['main', { type: 'start' }],
] as const
const OVER = [
  ['main', { type: 'finish' }],
  ['main', { type: 'run-finished', status: 'completed' }],
] as const

test.each([0, 16])(
  'a discard of one lane keeps the open texts of other lanes, with a flush interval of %i ms',
  async flush => {
    const live = entries(
      ...BEGUN,
      ['b', { type: 'text-delta', id: 'b1', delta: 'wrong' }],
      ['a', { type: 'text-delta', id: 'a1', delta: 'one ' }],
      ['a', { type: 'data-scale', id: 'scale', data: 1 }],
      ['b', { type: 'step-discarded', reason: 'again' }],
      ['a', { type: 'text-delta', id: 'a1', delta: 'two ' }],
      ['b', { type: 'text-delta', id: 'b1', delta: 'right' }],
      ['a', { type: 'data-scale', id: 'scale', data: 2 }],
      ['a', { type: 'text-delta', id: 'a1', delta: 'three' }],
      ['b', { type: 'step-discarded', reason: 'again' }],
      ['a', { type: 'text-end', id: 'a1' }],
      ['b', { type: 'text-delta', id: 'b1', delta: 'at last' }],
      ['b', { type: 'checkpoint-created', checkpointId: 'cb' }],
      ['a', { type: 'checkpoint-created', checkpointId: 'ca' }],
      ...OVER,
    )
    const { reading, store, updates } = await readThrough({ live, runId }, [12, 20], flush)
    await reading
    expect(messageIn(store, { live, runId }).parts).toEqual(partsOf(live))
    expect(partsOf(live)).toMatchObject([{ text: 'one two three' }, { data: 2 }, { text: 'at last' }])
    // Each text was present once even before the final correction.
    const texts = (updates.at(-1)?.parts ?? []).flatMap(part => (part.type === 'text' ? [part.text] : []))
    expect(texts.sort()).toEqual(['at last', 'one two three'])
  },
)

test('the approval of a sub-agent is a part of the message, without other parts of its call', async () => {
  const live = entries(
    ...BEGUN,
    ['main', { type: 'tool-input-available', toolCallId: 'c', toolName: 'ask', input: {} }],
    ['main', { type: 'subagent-start', agentId: 'child', agentType: 'helper', toolCallId: 'c', lane: 'child' }],
    ['child', { type: 'text-delta', id: 't', delta: 'psst' }],
    ['child', { type: 'tool-input-available', toolCallId: 'd', toolName: 'sell', input: { what: 'rye' } }],
    [
      'child',
      { type: 'tool-approval-request', toolCallId: 'd', approvalId: 'a', toolName: 'sell', input: { what: 'rye' } },
    ],
    ...OVER,
  )
  const { reading, store } = await readThrough({ live, runId }, [], 0)
  await reading
  const { parts = [] } = messageIn(store, { live, runId })
  expect(parts).toEqual(partsOf(live))
  expect(parts[1]).toMatchObject({ id: 'approval:a', data: { chunk: { approvalId: 'a', input: { what: 'rye' } } } })
  expect(JSON.stringify(parts)).not.toContain('psst')
})
