// Each test covers a line of the fold that no other test covers.

import { describe, expect, test } from 'vitest'
import type { Chunk } from '../catalogue/chunk.ts'
import { coalesce } from '../entry/coalesce.ts'
import type { Entry, Origin } from '../entry/entry.ts'
import { ADA, CHILD, commit, discard, MAIN, TOOL, writing } from './entries.fixture.ts'
import { Fold } from './fold.ts'
import { foldLog } from './fold-log.ts'

const R2 = { ...MAIN, runId: 'r2', agentId: 'r2' }
const at = (sequence: number, chunk: Chunk, origin: Origin = MAIN): Entry => ({ sequence, timestamp: 0, origin, chunk })
const text = (delta: string, id = '1'): Chunk => ({ type: 'text-delta', id, delta })
const input = (delta: string): Chunk => ({ type: 'tool-input-delta', toolCallId: 'c1', delta })
const call: Chunk = { type: 'tool-input-available', toolCallId: 'c1', toolName: 't', input: {}, executor: 'client' }
const ask: Chunk = { type: 'tool-approval-request', toolCallId: 'c1', approvalId: 'a', input: {} }
const yes: Chunk = {
  type: 'tool-approval-response',
  toolCallId: 'c1',
  approvalId: 'a',
  approved: true,
  isAutomatic: true,
}
const question = (interruptId: string): Chunk => ({
  type: 'interrupt',
  interruptId,
  input: { kind: 'text', question: '' },
})
const object = (streamId: string): Chunk => ({
  type: 'structured-data',
  streamId,
  dataType: 'd',
  kind: 'set',
  path: 'a',
  value: 1,
})

describe('details of the fold', () => {
  test('after a rewind a writer continues in the remaining message', () => {
    const fold = new Fold()
    fold.apply([at(1, text('a'))])
    fold.apply([at(2, { type: 'rewind', toSequence: 0, reason: 'x' })])
    fold.adopt(new Fold())
    fold.apply([at(3, text('b'))])
    expect(fold.part('r1::r1', 'text:1')).toMatchObject({ text: 'b' })
    expect(fold.view().drafts).toHaveLength(1)
  })
  test('foldLog gives the same result in one pass', () => {
    const rewind: Chunk = { type: 'rewind', toSequence: 1, reason: 'x' }
    const fold = foldLog([at(1, text('a')), at(2, text('b')), at(3, rewind), at(4, text('c'))])
    expect(fold.view().drafts).toHaveLength(1)
    expect(fold.takeChanges().all).toBe(true)
  })
  test('the head never decreases', () => {
    const fold = new Fold()
    fold.apply([at(5, text('a'))], 3)
    expect(fold.head).toBe(5)
  })
  test('pendings of all kinds are in one order', () => {
    const { say, fold } = writing()
    for (const chunk of [question('i'), call, commit]) say(chunk)
    expect(fold.pendings.map(({ id }) => id)).toEqual(['i', 'c1'])
  })
  test('invalid internal entries are reported after a restore too', () => {
    const { say, fold } = writing()
    say({ type: 'status', message: 'x' }, MAIN, true)
    const codes: string[] = []
    const onReport = ({ code }: { code: string }) => codes.push(code)
    const broken = (sequence: number): Entry => ({ ...at(sequence, { type: 'text-end', id: 'no' }), internal: true })
    Fold.from(fold.view(), { onReport }).apply([broken(2)])
    const adopting = new Fold({ onReport })
    adopting.adopt(fold)
    adopting.apply([broken(3)])
    expect(codes).toEqual(['out-of-order', 'out-of-order'])
  })
  test('the message of a sub-agent has the start time of the sub-agent', () => {
    const { say, fold } = writing()
    say(text('a'))
    say({ type: 'subagent-start', agentId: 'sub', agentType: 's', toolCallId: 'c' })
    say(text('b'), CHILD)
    expect(fold.message('r1::sub')?.createdAt).toBe(1002)
  })
  test('an approved client tool is pending', () => {
    const { say, fold, parts } = writing()
    for (const chunk of [call, ask, commit, yes]) say(chunk)
    expect(fold.pendings).toMatchObject([{ kind: 'client-tool', id: 'c1' }])
    expect(parts()).toMatchObject([{ approval: { isAutomatic: true } }])
  })
  test('invalidating a missing object is reported', () => {
    const { say, reports } = writing()
    say({ type: 'structured-data-invalidated', streamId: 's' })
    expect(reports).toEqual(['out-of-order'])
  })
  test('a run is requested once, before it exists; a withdrawn request stays withdrawn', () => {
    const { say, fold, reports } = writing()
    const request = (runId: string): Chunk => ({ type: 'run-requested', runId, program: 'p' })
    say({ type: 'run-started', program: 'p' })
    say(request('r1'), ADA)
    expect(reports).toEqual(['refused'])
    say(request('r2'), ADA)
    say({ type: 'stop-requested', runId: 'r2' }, ADA)
    say({ type: 'run-started', program: 'p' }, R2)
    expect(fold.view().requests).toMatchObject([{ runId: 'r2', status: 'removed' }])
  })
  test('the end of a run voids only its own interrupts', () => {
    const { say, fold } = writing()
    say(question('1'))
    say(question('2'), R2)
    say({ type: 'run-finished', status: 'completed' })
    expect(fold.view().interrupts.map(({ status }) => status)).toEqual(['void', 'open'])
  })
  test('a new context drops the blobs of the old one', () => {
    const fold = new Fold()
    fold.apply([{ ...at(1, { type: 'run-context', context: null }), blobs: { '/context': { hash: 'h', bytes: 1 } } }])
    fold.apply([at(2, { type: 'run-context', context: 1 })])
    expect(fold.view().runs[0]).not.toHaveProperty('blobs')
  })
  test('law 10: an internal entry opens no public run', () => {
    const { say, fold } = writing()
    say({ type: 'status', message: 'x' }, MAIN, true)
    expect(fold.view().runs).toEqual([])
  })
  test('a discard reverts the input text after a commit in the middle of the input', () => {
    const { say, parts } = writing()
    for (const chunk of [input('[1,'), commit, input('2,'), discard, input('3]')]) say(chunk)
    expect(parts()).toMatchObject([{ inputText: '[1,3]', input: [1, 3] }])
  })
  test('the position of a message is its first surviving write', () => {
    const { say, fold } = writing()
    say({ type: 'message-metadata', metadata: { a: 1 } })
    say(text('a'), TOOL)
    say({ type: 'finish', finishReason: 'stop' })
    say(discard)
    expect(fold.message('r1::r1')).toMatchObject({ at: 2, metaAt: 3 })
  })
  test('a structured object keeps its first position and its identity until it changes', () => {
    const { say, fold } = writing()
    for (const id of ['1', '2', '1']) say(object(id))
    expect(fold.view().structured.map(({ streamId, at }) => [streamId, at])).toEqual([
      ['1', 1],
      ['2', 2],
    ])
    expect(fold.structured('1')).toBe(fold.structured('1'))
  })
  test('approval is requested once, for a complete input; a call with streaming input is neither claimed nor denied', () => {
    const { say, reports, parts } = writing()
    say({ type: 'tool-input-start', toolCallId: 'c1', toolName: 't', executor: 'client' })
    for (const chunk of [
      ask,
      { type: 'tool-claimed', toolCallId: 'c1', until: 9 },
      { type: 'tool-output-denied', toolCallId: 'c1' },
    ] as Chunk[])
      say(chunk)
    for (const chunk of [call, ask, yes, { ...ask, approvalId: 'b' } as Chunk]) say(chunk)
    expect(reports).toEqual(['out-of-order', 'out-of-order', 'out-of-order', 'out-of-order'])
    expect(parts()).toMatchObject([{ state: 'approval-responded', approval: { id: 'a', approved: true } }])
  })
  test('coalesce keeps appended items that are arrays', () => {
    const append: Chunk = {
      type: 'structured-data',
      streamId: 's',
      dataType: 'd',
      kind: 'append',
      path: 'l',
      items: [[1]],
    }
    expect(coalesce([at(1, append), at(2, append)])).toEqual([at(1, { ...append, items: [[1], [1]] })])
  })
  test('a denied call is not approved', () => {
    const { say, parts } = writing()
    for (const chunk of [call, ask, { type: 'tool-output-denied', toolCallId: 'c1', reason: 'late' } as Chunk])
      say(chunk)
    expect(parts()).toMatchObject([{ state: 'output-denied', approval: { id: 'a', approved: false, reason: 'late' } }])
  })
  test('an agent of another run cannot write to a call, even with the same agent id', () => {
    const { say, reports } = writing()
    for (const chunk of [call, commit]) say(chunk, CHILD)
    say({ type: 'tool-output-available', toolCallId: 'c1', output: 1 }, { ...CHILD, runId: 'r2' })
    expect(reports).toEqual(['refused'])
  })
  test('an output keeps its provider metadata', () => {
    const { say, parts } = writing()
    say(call)
    say({ type: 'tool-output-available', toolCallId: 'c1', output: 1, providerMetadata: { p: 1 } })
    expect(parts()).toMatchObject([{ providerMetadata: { p: 1 } }])
  })
})

const odd = (chunk: object): Chunk => chunk as Chunk
describe('regressions', () => {
  test('an empty delta with metadata loses no text', () => {
    const { say, parts } = writing()
    for (const chunk of [text('bb'), commit, odd({ ...text(''), providerMetadata: { s: 1 } })]) say(chunk)
    expect(parts()).toMatchObject([{ text: 'bb', providerMetadata: { s: 1 } }])
  })
  test('only data is transient', () => {
    const { say, fold, transient } = writing()
    say(text('a'))
    say(odd({ type: 'run-finished', status: 'completed', transient: true }))
    expect(transient).toEqual([])
    expect(fold.view().drafts).toEqual([])
    expect(fold.part('r1::r1', 'text:1')).toMatchObject({ state: 'done' })
  })
  test('an interrupt is voided with its agent', () => {
    const { say, fold } = writing()
    say(question('i'), CHILD)
    say(question('mine'))
    say({ type: 'subagent-end', agentId: 'sub', agentType: 's', toolCallId: 'c', status: 'aborted' })
    expect(fold.pendings).toMatchObject([{ id: 'mine' }])
  })
  test('reports the change of a part that was removed with its message', () => {
    const { say, fold } = writing()
    say(text('a', '1'))
    fold.takeChanges()
    say(discard)
    say(text('b', '2'))
    expect([...(fold.takeChanges().messages.get('r1::r1') ?? [])].sort()).toEqual(['text:1', 'text:2'])
  })
  test('guests cannot send data', () => {
    const { say, transient, reports } = writing()
    say({ type: 'data-x', data: 1, transient: true }, ADA)
    expect([transient, reports]).toEqual([[], ['refused']])
  })

  test('input that turns out to be invalid JSON has the same value, regardless of reads in between', () => {
    const { say, parts, log } = writing()
    say(input('{"x":'))
    expect(parts()).toMatchObject([{ input: {} }])
    say(input('}'))
    expect(parts()).toMatchObject([{ input: {}, inputText: '{"x":}' }])
    const again = new Fold()
    again.apply(log)
    expect(again.message('r1::r1')?.parts).toEqual(parts())
  })
  test('the creation time of a message is the start of its agent, for any order of chunks', () => {
    const { say, fold } = writing()
    say(text('a'), CHILD)
    say({ type: 'subagent-start', agentId: 'sub', agentType: 's', toolCallId: 'c' })
    expect(fold.message('r1::sub')?.createdAt).toBe(1002)
    say(discard, CHILD)
    say(text('b'), CHILD)
    expect(fold.message('r1::sub')?.createdAt).toBe(1002)
  })
  test('repeated entries in a rewound range count once', () => {
    const use: Chunk = { type: 'step-finish', usage: { inputTokens: 1 } }
    const rewind: Chunk = { type: 'rewind', toSequence: 0, reason: 'x' }
    const fold = foldLog([
      at(1, use),
      at(1, use),
      at(2, { type: 'run-finished', status: 'completed' }),
      at(3, rewind, R2),
    ])
    expect(fold.view().usage).toEqual({ inputTokens: 1 })
  })
  test('a state of null is a state', () => {
    const { say, fold, reports } = writing()
    say({ type: 'state-snapshot', state: null })
    say({ type: 'state-patch', patches: [{ op: 'add', path: '/a', value: 1 }] })
    expect(reports).toEqual(['refused'])
    expect(fold.view().state).toBeNull()
  })
  test('the end of a sub-agent does not change its tool call', () => {
    const { say, fold } = writing()
    say({ type: 'subagent-start', agentId: 'sub', agentType: 's', toolCallId: 'c' })
    say({ type: 'subagent-end', agentId: 'sub', agentType: 's', toolCallId: 'other', status: 'completed' })
    expect(fold.view().agents).toMatchObject([{ toolCallId: 'c', status: 'completed' }])
  })
  test('a guest cannot settle a server tool', () => {
    const { say, parts, reports } = writing()
    say(odd({ ...call, executor: 'server' }))
    say(commit)
    say({ type: 'tool-output-available', toolCallId: 'c1', output: 1 }, ADA)
    say({ type: 'tool-output-error', toolCallId: 'c1', errorText: 'x' }, ADA)
    expect(reports).toEqual(['refused', 'refused'])
    expect(parts()).toMatchObject([{ state: 'input-available' }])
  })
  test('the blob of progress is removed with the progress', () => {
    const { say, fold, parts } = writing()
    say(call)
    const progress = { type: 'tool-output-available', toolCallId: 'c1', output: null, preliminary: true } as const
    fold.apply([{ ...at(2, progress), blobs: { '/output': { hash: 'h', bytes: 1 } } }])
    fold.apply([at(3, { type: 'tool-output-error', toolCallId: 'c1', errorText: 'x' })])
    expect(parts()[0]).not.toHaveProperty('blobs')
  })
  test('a completed sub-agent does not show the error of its run', () => {
    const { say, fold } = writing()
    say(text('a'), CHILD)
    say({ type: 'subagent-end', agentId: 'sub', agentType: 's', toolCallId: 'c', status: 'completed' })
    say({ type: 'error', message: 'x' })
    say({ type: 'run-finished', status: 'failed' })
    expect(fold.message('r1::sub')).toMatchObject({ status: 'sent' })
    expect(fold.message('r1::sub')).not.toHaveProperty('error')
  })
  test('an entry that also reaches the internal fold is reported once', () => {
    const { say, reports } = writing()
    say({ type: 'status', message: 'x' }, MAIN, true)
    say({ type: 'subagent-start', agentId: 'r1', agentType: 's', toolCallId: 'c' })
    expect(reports).toEqual(['refused'])
  })
  test('adding a message at the end does not sort the others again', () => {
    const { say, fold } = writing()
    const user = (messageId: string): Chunk => ({ type: 'message', messageId, role: 'user', parts: [] })
    say(user('a'))
    say(text('x'), CHILD)
    expect(fold.messageIds).toEqual(['a', 'r1::sub'])
    say(user('b'))
    say(discard, CHILD)
    say(text('x'), CHILD)
    say(user('c'))
    expect(fold.messageIds).toEqual(['a', 'b', 'r1::sub', 'c'])
    expect(fold.view().messages.map(message => message.id)).toEqual(fold.messageIds)
  })
})
