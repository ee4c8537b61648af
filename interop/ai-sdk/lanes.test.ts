import { aiSdkDialect, uiMessagesOf } from '@millrace/dialects/ai-sdk'
import { type Chunk, type Entry, Fold, isDraftChunk } from '@millrace/protocol'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { multiplied } from '../../scripts/faults/campaign.ts'
import { chatOf, contentOf } from './ai-sdk-chat.fixture.ts'

const LANES = ['main', 'main/a', 'main/b'] as const

/** The next action of a lane. */
type Act =
  | {
      readonly lane: number
      readonly kind: 'text' | 'reasoning' | 'end' | 'step' | 'commit' | 'discard' | 'call' | 'output'
    }
  | { readonly lane: number; readonly kind: 'data' | 'metadata' | 'progress'; readonly value: number }

const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof(
    fc.record({
      lane: fc.nat(2),
      kind: fc.constantFrom('text', 'text', 'reasoning', 'end', 'step', 'commit', 'discard', 'call', 'output'),
    }),
    fc.record({ lane: fc.nat(2), kind: fc.constantFrom('data', 'metadata', 'progress'), value: fc.nat(9) }),
  ) as fc.Arbitrary<Act>,
  { maxLength: 40 },
)

/** A valid run with these actions: a lane touches only its own parts, and final outputs are part of a commit. */
function entriesOf(all: readonly Act[]): Entry[] {
  const entries: Entry[] = []
  const open = new Map<string, 'text' | 'reasoning'>()
  const calls = new Map<string, 'draft' | 'there' | 'done'>()
  let count = 0
  const drafts = new Set<string>()
  const write = (lane: string, chunk: Chunk) => {
    if (chunk.type === 'checkpoint-created' || chunk.type === 'step-discarded') drafts.delete(lane)
    else if (isDraftChunk(chunk)) drafts.add(lane)
    const origin = { runId: 'r', lane, agentId: 'r', agentType: 'miller', step: 1 }
    entries.push({ sequence: entries.length + 1, timestamp: 0, origin, chunk })
  }
  const commit = (lane: string) => {
    write(lane, { type: 'checkpoint-created', checkpointId: `c${++count}` })
    if (calls.get(lane) === 'draft') calls.set(lane, 'there')
  }
  write('main', { type: 'run-started', program: 'agent:miller@1' })
  for (const act of all) {
    const lane = LANES[act.lane] as string
    const id = `${lane}-${count}`
    const toolCallId = `call-${lane}`
    if (act.kind === 'text' || act.kind === 'reasoning') {
      open.set(id, open.get(id) ?? act.kind)
      write(lane, { type: `${open.get(id) as 'text'}-delta`, id, delta: 'word ' })
    } else if (act.kind === 'end') {
      const kind = open.get(id)
      if (kind) write(lane, { type: `${kind}-end`, id })
      open.delete(id)
      count++
    } else if (act.kind === 'step') {
      // A lane starts a step after it has committed or discarded the previous one.
      if (!drafts.has(lane)) write(lane, { type: 'step-start' })
    } else if (act.kind === 'commit') {
      for (const [key, kind] of open) if (key.startsWith(`${lane}-`)) write(lane, { type: `${kind}-end`, id: key })
      for (const key of [...open.keys()]) if (key.startsWith(`${lane}-`)) open.delete(key)
      commit(lane)
    } else if (act.kind === 'discard') {
      write(lane, { type: 'step-discarded', reason: 'overloaded' })
      for (const key of [...open.keys()]) if (key.startsWith(`${lane}-`)) open.delete(key)
      if (calls.get(lane) === 'draft') calls.delete(lane)
      count++
    } else if (act.kind === 'call') {
      if (calls.has(lane)) continue
      calls.set(lane, 'draft')
      write(lane, { type: 'tool-input-available', toolCallId, toolName: 'weigh', input: { lane } })
    } else if (act.kind === 'progress') {
      if (calls.get(lane) !== 'draft') continue
      write(lane, { type: 'tool-output-available', toolCallId, output: act.value, preliminary: true })
    } else if (act.kind === 'output') {
      if (calls.get(lane) !== 'there') continue
      write(lane, { type: 'tool-output-available', toolCallId, output: 'done' })
      calls.set(lane, 'done')
      commit(lane)
    } else if (act.kind === 'data') {
      write(lane, { type: 'data-scale', id: `${lane}-${act.value % 2}`, data: act.value })
    } else if (act.kind === 'metadata')
      write('main', { type: 'message-metadata', metadata: { [`k${act.value % 2}`]: act.value } })
  }
  write('main', { type: 'finish', finishReason: 'stop' })
  write('main', { type: 'run-finished', status: 'completed' })
  return entries
}

test('law 3: a discard removes the draft of one lane in the real client and touches no other lane', async () => {
  const property = fc.asyncProperty(acts, async all => {
    const entries = entriesOf(all)
    const fold = new Fold()
    fold.apply(entries, entries.length)
    const encoder = aiSdkDialect.encoder({ runId: 'r' })
    const chat = await chatOf([entries.flatMap(entry => encoder.encode(entry))])
    const [message] = uiMessagesOf(fold.view())
    const { content, metadata } = contentOf(chat.lastMessage)
    const expected = contentOf(message as never)
    expect([content, metadata]).toEqual([expected.content, expected.metadata])
  })
  await fc.assert(property, { numRuns: multiplied(300) })
})

// With a cost proportional to earlier commits this would take 8 * 10^10 steps and time out.
test('the cost of a commit does not grow with the commits before it in the step', () => {
  const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'miller', step: 1 }
  const encoder = aiSdkDialect.encoder()
  encoder.encode({ chunk: { type: 'step-start' }, origin })
  let events = 0
  for (let i = 0; i < 400_000; i++) {
    events += encoder.encode({ chunk: { type: 'data-scale', data: i }, origin }).length
    encoder.encode({ chunk: { type: 'checkpoint-created', checkpointId: `c${i}` }, origin })
  }
  expect(events).toBe(400_000)
})
