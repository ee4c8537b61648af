// Each test covers a line of the fold that no other test covers.

import { describe, expect, test } from 'vitest'
import type { Chunk } from '../catalogue/chunk.ts'
import { coalesce } from '../entry/coalesce.ts'
import type { Entry, Origin } from '../entry/entry.ts'
import { ADA, CHILD, commit, discard, MAIN, newFoldedLog, TOOL } from './entries.fixture.ts'
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
    const { write, fold } = newFoldedLog()
    for (const chunk of [question('i'), call, commit]) write(chunk)
    expect(fold.pendings.map(({ id }) => id)).toEqual(['i', 'c1'])
  })
  test('invalid internal entries are reported after a restore too', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'status', message: 'x' }, MAIN, true)
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
    const { write, fold } = newFoldedLog()
    write(text('a'))
    write({ type: 'subagent-start', agentId: 'sub', agentType: 's', toolCallId: 'c' })
    write(text('b'), CHILD)
    expect(fold.message('r1::sub')?.createdAt).toBe(1002)
  })
  test('an approved client tool is pending', () => {
    const { write, fold, parts } = newFoldedLog()
    for (const chunk of [call, ask, commit, yes]) write(chunk)
    expect(fold.pendings).toMatchObject([{ kind: 'client-tool', id: 'c1' }])
    expect(parts()).toMatchObject([{ approval: { isAutomatic: true } }])
  })
  test('invalidating a missing object is reported', () => {
    const { write, reports } = newFoldedLog()
    write({ type: 'structured-data-invalidated', streamId: 's' })
    expect(reports).toEqual(['out-of-order'])
  })
  test('a run is requested once, before it exists; a withdrawn request stays withdrawn', () => {
    const { write, fold, reports } = newFoldedLog()
    const request = (runId: string): Chunk => ({ type: 'run-requested', runId, program: 'p' })
    write({ type: 'run-started', program: 'p' })
    write(request('r1'), ADA)
    expect(reports).toEqual(['refused'])
    write(request('r2'), ADA)
    write({ type: 'stop-requested', runId: 'r2' }, ADA)
    write({ type: 'run-started', program: 'p' }, R2)
    expect(fold.view().requests).toMatchObject([{ runId: 'r2', status: 'removed' }])
  })
  test('the end of a run voids only its own interrupts', () => {
    const { write, fold } = newFoldedLog()
    write(question('1'))
    write(question('2'), R2)
    write({ type: 'run-finished', status: 'completed' })
    expect(fold.view().interrupts.map(({ status }) => status)).toEqual(['void', 'open'])
  })
  test('a new context drops the blobs of the old one', () => {
    const fold = new Fold()
    fold.apply([{ ...at(1, { type: 'run-context', context: null }), blobs: { '/context': { hash: 'h', bytes: 1 } } }])
    fold.apply([at(2, { type: 'run-context', context: 1 })])
    expect(fold.view().runs[0]).not.toHaveProperty('blobs')
  })
  test('law 10: an internal entry opens no public run', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'status', message: 'x' }, MAIN, true)
    expect(fold.view().runs).toEqual([])
  })
  test('a discard reverts the input text after a commit in the middle of the input', () => {
    const { write, parts } = newFoldedLog()
    for (const chunk of [input('[1,'), commit, input('2,'), discard, input('3]')]) write(chunk)
    expect(parts()).toMatchObject([{ inputText: '[1,3]', input: [1, 3] }])
  })
  test('the position of a message is its first surviving write', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'message-metadata', metadata: { a: 1 } })
    write(text('a'), TOOL)
    write({ type: 'finish', finishReason: 'stop' })
    write(discard)
    expect(fold.message('r1::r1')).toMatchObject({ at: 2, metaAt: 3 })
  })
  test('a structured object keeps its first position and its identity until it changes', () => {
    const { write, fold } = newFoldedLog()
    for (const id of ['1', '2', '1']) write(object(id))
    expect(fold.view().structured.map(({ streamId, at }) => [streamId, at])).toEqual([
      ['1', 1],
      ['2', 2],
    ])
    expect(fold.structured('1')).toBe(fold.structured('1'))
  })
  test('approval is requested once, for a complete input; a call with streaming input is neither claimed nor denied', () => {
    const { write, reports, parts } = newFoldedLog()
    write({ type: 'tool-input-start', toolCallId: 'c1', toolName: 't', executor: 'client' })
    for (const chunk of [
      ask,
      { type: 'tool-claimed', toolCallId: 'c1', until: 9 },
      { type: 'tool-output-denied', toolCallId: 'c1' },
    ] as Chunk[])
      write(chunk)
    for (const chunk of [call, ask, yes, { ...ask, approvalId: 'b' } as Chunk]) write(chunk)
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
    const { write, parts } = newFoldedLog()
    for (const chunk of [call, ask, { type: 'tool-output-denied', toolCallId: 'c1', reason: 'late' } as Chunk])
      write(chunk)
    expect(parts()).toMatchObject([{ state: 'output-denied', approval: { id: 'a', approved: false, reason: 'late' } }])
  })
  test('an agent of another run cannot write to a call, even with the same agent id', () => {
    const { write, reports } = newFoldedLog()
    for (const chunk of [call, commit]) write(chunk, CHILD)
    write({ type: 'tool-output-available', toolCallId: 'c1', output: 1 }, { ...CHILD, runId: 'r2' })
    expect(reports).toEqual(['refused'])
  })
  test('an output keeps its provider metadata', () => {
    const { write, parts } = newFoldedLog()
    write(call)
    write({ type: 'tool-output-available', toolCallId: 'c1', output: 1, providerMetadata: { p: 1 } })
    expect(parts()).toMatchObject([{ providerMetadata: { p: 1 } }])
  })
})

const odd = (chunk: object): Chunk => chunk as Chunk
describe('regressions', () => {
  test('an empty delta with metadata loses no text', () => {
    const { write, parts } = newFoldedLog()
    for (const chunk of [text('bb'), commit, odd({ ...text(''), providerMetadata: { s: 1 } })]) write(chunk)
    expect(parts()).toMatchObject([{ text: 'bb', providerMetadata: { s: 1 } }])
  })
  test('only data is transient', () => {
    const { write, fold, transient } = newFoldedLog()
    write(text('a'))
    write(odd({ type: 'run-finished', status: 'completed', transient: true }))
    expect(transient).toEqual([])
    expect(fold.view().drafts).toEqual([])
    expect(fold.part('r1::r1', 'text:1')).toMatchObject({ state: 'done' })
  })
  test('an interrupt is voided with its agent', () => {
    const { write, fold } = newFoldedLog()
    write(question('i'), CHILD)
    write(question('mine'))
    write({ type: 'subagent-end', agentId: 'sub', agentType: 's', toolCallId: 'c', status: 'aborted' })
    expect(fold.pendings).toMatchObject([{ id: 'mine' }])
  })
  test('reports the change of a part that was removed with its message', () => {
    const { write, fold } = newFoldedLog()
    write(text('a', '1'))
    fold.takeChanges()
    write(discard)
    write(text('b', '2'))
    expect([...(fold.takeChanges().messages.get('r1::r1') ?? [])].sort()).toEqual(['text:1', 'text:2'])
  })
  test('guests cannot send data', () => {
    const { write, transient, reports } = newFoldedLog()
    write({ type: 'data-x', data: 1, transient: true }, ADA)
    expect([transient, reports]).toEqual([[], ['refused']])
  })

  test('input that turns out to be invalid JSON has the same value, regardless of reads in between', () => {
    const { write, parts, log } = newFoldedLog()
    write(input('{"x":'))
    expect(parts()).toMatchObject([{ input: {} }])
    write(input('}'))
    expect(parts()).toMatchObject([{ input: {}, inputText: '{"x":}' }])
    const again = new Fold()
    again.apply(log)
    expect(again.message('r1::r1')?.parts).toEqual(parts())
  })
  test('the creation time of a message is the start of its agent, for any order of chunks', () => {
    const { write, fold } = newFoldedLog()
    write(text('a'), CHILD)
    write({ type: 'subagent-start', agentId: 'sub', agentType: 's', toolCallId: 'c' })
    expect(fold.message('r1::sub')?.createdAt).toBe(1002)
    write(discard, CHILD)
    write(text('b'), CHILD)
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
    const { write, fold, reports } = newFoldedLog()
    write({ type: 'state-snapshot', state: null })
    write({ type: 'state-patch', patches: [{ op: 'add', path: '/a', value: 1 }] })
    expect(reports).toEqual(['refused'])
    expect(fold.view().state).toBeNull()
  })
  test('the end of a sub-agent does not change its tool call', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'subagent-start', agentId: 'sub', agentType: 's', toolCallId: 'c' })
    write({ type: 'subagent-end', agentId: 'sub', agentType: 's', toolCallId: 'other', status: 'completed' })
    expect(fold.view().agents).toMatchObject([{ toolCallId: 'c', status: 'completed' }])
  })
  test('a guest cannot settle a server tool', () => {
    const { write, parts, reports } = newFoldedLog()
    write(odd({ ...call, executor: 'server' }))
    write(commit)
    write({ type: 'tool-output-available', toolCallId: 'c1', output: 1 }, ADA)
    write({ type: 'tool-output-error', toolCallId: 'c1', errorText: 'x' }, ADA)
    expect(reports).toEqual(['refused', 'refused'])
    expect(parts()).toMatchObject([{ state: 'input-available' }])
  })
  test('the blob of progress is removed with the progress', () => {
    const { write, fold, parts } = newFoldedLog()
    write(call)
    const progress = { type: 'tool-output-available', toolCallId: 'c1', output: null, preliminary: true } as const
    fold.apply([{ ...at(2, progress), blobs: { '/output': { hash: 'h', bytes: 1 } } }])
    fold.apply([at(3, { type: 'tool-output-error', toolCallId: 'c1', errorText: 'x' })])
    expect(parts()[0]).not.toHaveProperty('blobs')
  })
  test('a completed sub-agent does not show the error of its run', () => {
    const { write, fold } = newFoldedLog()
    write(text('a'), CHILD)
    write({ type: 'subagent-end', agentId: 'sub', agentType: 's', toolCallId: 'c', status: 'completed' })
    write({ type: 'error', message: 'x' })
    write({ type: 'run-finished', status: 'failed' })
    expect(fold.message('r1::sub')).toMatchObject({ status: 'sent' })
    expect(fold.message('r1::sub')).not.toHaveProperty('error')
  })
  test('the error of a sub-agent does not replace the error of its run', () => {
    const { write, fold } = newFoldedLog()
    const messageOfRun = () => fold.view().runs[0]?.error?.message
    write({ type: 'error', message: 'child, first' }, CHILD)
    expect(messageOfRun()).toBe('child, first')
    write({ type: 'error', message: 'run' })
    write({ type: 'error', message: 'child, later' }, CHILD)
    expect(messageOfRun()).toBe('run')
    write({ type: 'error', message: 'run, later' })
    expect(messageOfRun()).toBe('run, later')
  })
  test('an entry that also reaches the internal fold is reported once', () => {
    const { write, reports } = newFoldedLog()
    write({ type: 'status', message: 'x' }, MAIN, true)
    write({ type: 'subagent-start', agentId: 'r1', agentType: 's', toolCallId: 'c' })
    expect(reports).toEqual(['refused'])
  })
  test('adding a message at the end does not sort the others again', () => {
    const { write, fold } = newFoldedLog()
    const user = (messageId: string): Chunk => ({ type: 'message', messageId, role: 'user', parts: [] })
    write(user('a'))
    write(text('x'), CHILD)
    expect(fold.messageIds).toEqual(['a', 'r1::sub'])
    write(user('b'))
    write(discard, CHILD)
    write(text('x'), CHILD)
    write(user('c'))
    expect(fold.messageIds).toEqual(['a', 'b', 'r1::sub', 'c'])
    expect(fold.view().messages.map(message => message.id)).toEqual(fold.messageIds)
  })
})
