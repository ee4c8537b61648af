import { describe, expect, test } from 'vitest'
import type { Chunk } from '../catalogue/chunk.ts'
import { ADA, CHILD, commit, discard, MAIN, newFoldedLog, TOOL } from './entries.fixture.ts'
import { Fold } from './fold.ts'

describe('messages', () => {
  test('a turn has a complete user message and a streamed answer', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'run-started', program: 'agent:assistant@1' })
    write({ type: 'message', messageId: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] })
    write({ type: 'start' })
    expect(fold.message('r1::r1')).toMatchObject({ role: 'assistant', status: 'streaming', runId: 'r1', parts: [] })
    write({ type: 'text-start', id: '1' })
    write({ type: 'text-delta', id: '1', delta: 'Hel' })
    write({ type: 'text-delta', id: '1', delta: 'lo' })
    expect(fold.message('r1::r1')?.parts).toMatchObject([{ type: 'text', text: 'Hello', state: 'streaming' }])
    write({ type: 'text-end', id: '1' })
    write({ type: 'finish', finishReason: 'stop' })
    write({ type: 'run-finished', status: 'completed' })
    expect(fold.messageIds).toEqual(['u1', 'r1::r1'])
    expect(fold.message('u1')).toMatchObject({ role: 'user', status: 'sent', createdAt: 1002 })
    expect(fold.message('r1::r1')).toMatchObject({ status: 'sent', finishReason: 'stop', createdAt: 1001 })
    expect(fold.message('r1::r1')?.parts).toMatchObject([{ text: 'Hello', state: 'done' }])
  })

  test.each([
    ['completed', 'sent'],
    ['failed', 'error'],
    ['interrupted', 'cancelled'],
    ['aborted', 'cancelled'],
  ] as const)('a run that ends %s leaves its message %s', (status, expected) => {
    const { write, fold } = newFoldedLog()
    write({ type: 'text-delta', id: '1', delta: 'x' })
    write({ type: 'error', message: 'overloaded', code: 'provider_overloaded', retryable: true })
    write({ type: 'run-finished', status })
    const message = fold.message('r1::r1')
    expect(message?.status).toBe(expected)
    expect(message?.error).toEqual(
      status === 'failed' ? { message: 'overloaded', code: 'provider_overloaded', retryable: true } : undefined,
    )
  })

  test('abort cancels the message', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'text-delta', id: '1', delta: 'x' })
    write({ type: 'abort' })
    write({ type: 'run-finished', status: 'completed' })
    expect(fold.message('r1::r1')?.status).toBe('cancelled')
  })

  test('metadata merges deeply, arrays replace, prototype keys are ordinary', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'start', metadata: { a: { x: 1 }, l: [1, 2] } })
    write({ type: 'message-metadata', metadata: JSON.parse('{"a":{"y":2},"l":[3],"__proto__":{"z":1}}') })
    const { metadata } = fold.message('r1::r1') as { metadata: object }
    expect(JSON.stringify(metadata)).toBe('{"a":{"x":1,"y":2},"l":[3],"__proto__":{"z":1}}')
    expect((metadata as { z?: number }).z).toBeUndefined()
  })

  test('a complete message cannot replace the message of an agent or another message', () => {
    const { write, fold, reports } = newFoldedLog()
    const messageStart = (messageId: string): Chunk => ({
      type: 'message',
      messageId,
      role: 'user',
      parts: [{ type: 'text', text: 'mine' }],
    })
    for (const id of ['r1::r1', 'u1', 'u1']) write(messageStart(id))
    write({ type: 'text-delta', id: '1', delta: 'yours' })
    expect(reports).toEqual(['refused', 'refused'])
    expect(fold.messageIds).toEqual(['u1', 'r1::r1'])
    expect(fold.message('r1::r1')).toMatchObject({ role: 'assistant', parts: [{ text: 'yours' }] })
  })

  test('no two agents share a message, for any ids of agents and runs', () => {
    const { write, fold } = newFoldedLog()
    const names = [
      ['a', 'b::c'],
      ['a::b', 'c'],
      ['a%3A%3Ab', 'c'],
      ['a:', ':b::c'],
    ] as const
    for (const [runId, agentId] of names)
      write({ type: 'text-delta', id: '1', delta: runId }, { ...MAIN, runId, agentId })
    expect(fold.view().messages.map(message => message.parts)).toMatchObject(names.map(([text]) => [{ text }]))
  })

  test('a sub-agent has its own message, nested under its tool call', () => {
    const { write, fold, reports } = newFoldedLog()
    write({ type: 'tool-input-available', toolCallId: 'c1', toolName: 'research', input: {} })
    write({ type: 'subagent-start', agentId: 'sub', agentType: 'researcher', toolCallId: 'c1' })
    write(commit)
    write({ type: 'text-delta', id: '1', delta: 'found' }, CHILD)
    expect(fold.message('r1::sub')).toMatchObject({
      status: 'streaming',
      agentType: 'researcher',
      parent: { messageId: 'r1::r1', toolCallId: 'c1' },
    })
    write(
      { type: 'subagent-end', agentId: 'sub', agentType: 'researcher', toolCallId: 'c1', status: 'completed' },
      CHILD,
    )
    expect(fold.message('r1::sub')).toMatchObject({ status: 'sent', parts: [{ text: 'found', state: 'done' }] })
    expect(fold.message('r1::r1')?.status).toBe('streaming')
    write({ type: 'text-delta', id: '1', delta: ' more' }, CHILD)
    expect(reports).toEqual(['after-end'])
    expect(fold.message('r1::sub')?.parts).toMatchObject([{ text: 'found' }])
  })

  test('the message of a sub-agent shows updates before its first text and after its last', () => {
    const { write, fold, log } = newFoldedLog()
    const again = () => {
      const fresh = new Fold()
      fresh.apply(log)
      return fresh.message('r1::sub')
    }
    write({ type: 'text-delta', id: '1', delta: 'a' }, CHILD)
    expect(fold.message('r1::sub')).not.toHaveProperty('parent')
    write({ type: 'subagent-start', agentId: 'sub', agentType: 's', toolCallId: 'c1' })
    expect(fold.message('r1::sub')).toEqual(again())
    write({ type: 'subagent-end', agentId: 'sub', agentType: 's', toolCallId: 'c1', status: 'failed' })
    expect(fold.message('r1::sub')).toEqual(again())
    write({ type: 'error', message: 'overloaded' })
    expect(fold.message('r1::sub')).toEqual(again())
    write({ type: 'run-finished', status: 'failed' })
    expect(fold.message('r1::sub')).toMatchObject({ status: 'error', error: { message: 'overloaded' } })
  })

  test('messages are in the order of their first surviving writes', () => {
    const { write, fold } = newFoldedLog()
    write({ type: 'text-delta', id: '1', delta: 'taken back' })
    write({ type: 'text-delta', id: '1', delta: 'child' }, CHILD)
    write({ type: 'data-progress', id: 'p', data: 1 }, TOOL)
    expect(fold.messageIds).toEqual(['r1::r1', 'r1::sub'])
    write(discard)
    expect(fold.messageIds).toEqual(['r1::sub', 'r1::r1'])
    expect(fold.message('r1::r1')).toMatchObject({ at: 3, parts: [{ type: 'data-progress' }] })
  })
})

describe('parts that break the protocol', () => {
  test('a delta without a start opens its part; an end without a start does not', () => {
    const { write, parts, reports } = newFoldedLog()
    write({ type: 'text-end', id: '1' })
    write({ type: 'text-delta', id: '1', delta: 'a' })
    write({ type: 'reasoning-delta', id: '1', delta: 'b' })
    expect(parts()).toMatchObject([
      { type: 'text', text: 'a' },
      { type: 'reasoning', text: 'b' },
    ])
    expect(reports).toEqual(['out-of-order'])
  })

  test('drops a second start and any chunk for an ended part', () => {
    const { write, parts, reports } = newFoldedLog()
    write({ type: 'text-start', id: '1' })
    write({ type: 'text-start', id: '1' })
    write({ type: 'text-delta', id: '1', delta: 'a' })
    write({ type: 'text-end', id: '1' })
    write({ type: 'text-delta', id: '1', delta: 'b' })
    write({ type: 'text-start', id: '1' })
    write({ type: 'text-end', id: '1' })
    expect(parts()).toMatchObject([{ text: 'a', state: 'done' }])
    expect(reports).toEqual(['out-of-order', 'out-of-order', 'out-of-order', 'out-of-order'])
  })

  test('interleaved parts of one writer each grow', () => {
    const { write, parts } = newFoldedLog()
    for (const delta of ['a', 'b', 'c']) {
      write({ type: 'text-delta', id: '1', delta })
      write({ type: 'reasoning-delta', id: '2', delta: delta.toUpperCase() })
    }
    expect(parts()).toMatchObject([{ text: 'abc' }, { text: 'ABC' }])
  })

  test('data with an id is replaced in place, data without an id is added, transient data is reported and not kept', () => {
    const { write, parts, transient } = newFoldedLog()
    write({ type: 'data-weather', id: 'w', data: 1 })
    write({ type: 'data-weather', data: 2 })
    write({ type: 'data-weather', id: 'w', data: 3 })
    write({ type: 'data-weather', id: 'w', data: 4, transient: true })
    expect(parts()).toMatchObject([
      { id: 'w', data: 3, at: 1 },
      { data: 2, at: 2 },
    ])
    expect(transient).toEqual([{ type: 'data-weather', id: 'w', data: 4, transient: true }])
  })

  test('a data chunk is data for any name', () => {
    const { write, parts, fold } = newFoldedLog()
    write({ type: 'data-tool', id: 'x', data: { state: 'input-streaming' } })
    write({ type: 'data-meta', data: 1 })
    write({ type: 'run-finished', status: 'completed' })
    expect(parts()).toMatchObject([{ type: 'data-tool', data: { state: 'input-streaming' } }, { type: 'data-meta' }])
    expect(fold.pendings).toEqual([])
  })

  test('law 9: a complete message loses only the parts that are reserved for agents', () => {
    const { write, fold, reports } = newFoldedLog()
    const forged = { type: 'tool', toolCallId: 'c1', toolName: 't', state: 'approval-requested', approval: { id: 'a' } }
    const text = { type: 'text', text: 'Hello.' }
    const hologram = { type: 'hologram', shape: 'cube' }
    for (const [i, part] of [forged, { ...forged, type: 'dynamic-tool' }, { type: 'meta', aborted: true }].entries()) {
      const parts = [part, text, hologram]
      write({ type: 'message', messageId: `u${i}`, role: 'user', parts, metadata: { i } } as unknown as Chunk)
    }
    expect(reports).toEqual(['refused', 'refused', 'refused'])
    const { messages, pendings } = fold.view()
    expect(messages).toEqual(
      [0, 1, 2].map(i =>
        expect.objectContaining({
          id: `u${i}`,
          status: 'sent',
          metadata: { i },
          parts: [expect.objectContaining(text), expect.objectContaining(hologram)],
        }),
      ),
    )
    expect(pendings).toEqual([])
  })

  test('sources and files with one id appear once; every step start appears', () => {
    const { write, parts } = newFoldedLog()
    write({ type: 'step-start' })
    write({ type: 'source-url', sourceId: 's', url: 'https://a.example' })
    write({ type: 'source-url', sourceId: 's', url: 'https://a.example', title: 'A' })
    write({ type: 'file', id: 'f', url: 'data:,1', mediaType: 'text/plain' })
    write({ type: 'file', id: 'f', url: 'data:,2', mediaType: 'text/plain' })
    write({ type: 'step-start' })
    expect(parts().map(part => part.type)).toEqual(['step-start', 'source-url', 'file', 'step-start'])
    expect(parts()).toMatchObject([{}, { title: 'A' }, { id: 'f', url: 'data:,2' }, {}])
  })

  test('the writer of a dropped entry is not used for the next entry', () => {
    const { write, parts } = newFoldedLog()
    write({ type: 'subagent-end', agentId: 'sub', agentType: 'researcher', toolCallId: 'c1', status: 'completed' })
    write({ type: 'text-delta', id: '1', delta: 'a' }, TOOL)
    write(discard, CHILD)
    write({ type: 'text-delta', id: '1', delta: 'b' }, CHILD)
    expect(parts()).toMatchObject([{ text: 'a' }])
  })

  test('only its own agent or a guest can write to a tool call', () => {
    const { write, parts, reports } = newFoldedLog()
    write({ type: 'tool-input-start', toolCallId: 'c1', toolName: 't' })
    write(commit)
    write({ type: 'tool-input-delta', toolCallId: 'c1', delta: '{' }, CHILD)
    write({ type: 'tool-input-delta', toolCallId: 'c1', delta: '{' }, { ...MAIN, runId: 'r2', agentId: 'r2' })
    expect(reports).toEqual(['refused', 'refused'])
    expect(parts()[0]).not.toHaveProperty('inputText')
  })

  test('an object that was invalidated and started again has the position of its new start', () => {
    const { write, fold } = newFoldedLog()
    const set = (streamId: string): Chunk => ({
      type: 'structured-data',
      streamId,
      dataType: 'd',
      kind: 'set',
      path: 'a',
      value: 1,
    })
    const ids = () => fold.view().structured.map(object => object.streamId)
    write(set('x'))
    write(set('y'))
    write(commit)
    write({ type: 'structured-data-invalidated', streamId: 'x' })
    expect(ids()).toEqual(['y'])
    write(set('x'))
    expect(ids()).toEqual(['y', 'x'])
    write(discard)
    expect(ids()).toEqual(['x', 'y'])
  })

  test('ignores an unknown type without a report, for any prefix of its name', () => {
    const { write, fold, reports } = newFoldedLog()
    write({ type: 'hologram', shape: 'cube' } as unknown as Chunk)
    write({ type: 'tool-hologram', toolCallId: 'c1' } as unknown as Chunk)
    write({ type: 'text-hologram', id: '1', delta: 'x' } as unknown as Chunk)
    expect(fold.head).toBe(3)
    expect(fold.messageIds).toEqual([])
    expect(reports).toEqual([])
  })

  test('law 7: drops chunks after the end of a run and leaves nothing streaming', () => {
    const { write, fold, parts, reports } = newFoldedLog()
    write({ type: 'text-delta', id: '1', delta: 'a' })
    write({ type: 'tool-input-start', toolCallId: 'c1', toolName: 't' })
    write({ type: 'tool-input-delta', toolCallId: 'c1', delta: '{"q":"par' })
    write({ type: 'run-finished', status: 'interrupted', reason: 'stopped' })
    expect(parts()).toMatchObject([
      { text: 'a', state: 'done' },
      { state: 'output-error', code: 'interrupted', input: { q: 'par' } },
    ])
    write({ type: 'text-delta', id: '1', delta: 'b' })
    write({ type: 'tool-output-available', toolCallId: 'c1', output: 1 }, ADA)
    expect(reports).toEqual(['after-end', 'out-of-order'])
    expect(parts()).toMatchObject([{ text: 'a' }, { state: 'output-error' }])
    expect(fold.view().runs).toMatchObject([{ status: 'interrupted', reason: 'stopped' }])
  })
})
