import type { Chunk, Origin } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { kortyxDialect, type StreamChunk } from './index.ts'

const main: Origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'writer', step: 1 }
const child: Origin = { ...main, lane: 'main/c', agentId: 'child' }

/** The fields of chunks that clients read. */
const seen = (events: readonly StreamChunk[]) =>
  events.filter(({ type }) => type !== 'tool-result').map(({ millrace, ...event }) => event)

function encoderOf(options = {}) {
  const encoder = kortyxDialect.encoder(options)
  const encode = (chunk: Chunk, origin = main) => seen(encoder.encode({ chunk, origin }))
  return { encoder, encode }
}

const set: Chunk = { type: 'structured-data', streamId: 's', dataType: 'd', kind: 'set', path: 'a', value: 1 }
const more: Chunk = { type: 'structured-data', streamId: 's', dataType: 'd', kind: 'append', path: 'b', items: [2] }
const checkpoint: Chunk = { type: 'checkpoint-created', checkpointId: 'cp' }
const discard: Chunk = { type: 'step-discarded', reason: 'again' }
const call: Chunk = { type: 'tool-input-available', toolCallId: 'c1', toolName: 'sell', input: { what: 'rye' } }
const approval: Chunk = { type: 'tool-approval-request', toolCallId: 'c1', approvalId: 'a1', input: { what: 'rye' } }
const question: Chunk = { type: 'interrupt', interruptId: 'q1', input: { kind: 'form', schema: { type: 'object' } } }

describe('discard', () => {
  test('invalidates a structured object on a discard, and repeats its committed part', () => {
    const { encode } = encoderOf()
    encode(set)
    encode(checkpoint)
    encode(more)
    expect(encode(discard)).toEqual([{ type: 'structured-data-invalidated', streamId: 's', checkpointId: 'cp' }, set])
    expect(encode(discard)).toEqual([])
  })

  test('repeats nothing of a discarded object without a committed part', () => {
    const { encode, encoder } = encoderOf()
    encode(set)
    expect(encode(discard)).toEqual([{ type: 'structured-data-invalidated', streamId: 's', checkpointId: '' }])
    expect(encoder.resume()).toEqual([])
  })

  test('closes discarded texts, gives their ids to new texts, and fails discarded calls', () => {
    const { encode } = encoderOf()
    encode({ type: 'text-delta', id: 't', delta: 'er' })
    encode(call)
    expect(encode(discard)).toEqual([
      { type: 'text-end', segmentId: 't' },
      { type: 'tool-call-error', tool: 'sell', toolCallId: 'c1', message: 'The attempt was taken back.' },
    ])
    const [start, delta] = encode({ type: 'text-delta', id: 't', delta: 'Well' })
    expect(start).toMatchObject({ type: 'text-start', segmentId: 't~1' })
    expect(delta).toMatchObject({ type: 'text-delta', segmentId: 't~1', delta: 'Well' })
  })

  test('leaves other lanes unchanged on a discard', () => {
    const { encode } = encoderOf()
    encode(set, { ...main, lane: 'other' })
    expect(encode(discard)).toEqual([])
  })
})

describe('pendings', () => {
  test('sends all pendings with a token when the run pauses, including those of sub-agents', () => {
    const { encode, encoder } = encoderOf({ sessionId: 's', turnIndex: 2, tokenOf: (id: string) => `t-${id}` })
    encode(checkpoint)
    encode(question)
    encode(call, child)
    encode(approval, child)
    const ended = seen(encoder.end('paused'))
    expect(ended.map(({ type }) => type)).toEqual(['interrupt', 'interrupt', 'checkpoint', 'done'])
    expect(ended).toMatchObject([
      { requestId: 'q1', resumeToken: 't-q1', input: { kind: 'text' }, meta: { schema: { type: 'object' } } },
      { requestId: 'a1', resumeToken: 't-a1', id: 'tool:c1', meta: { tool: 'sell', input: { what: 'rye' } } },
      { id: 'cp', sessionId: 's', turnIndex: 2 },
      { data: { status: 'paused' } },
    ])
  })

  test('repeats pendings until they are settled', () => {
    const { encoder, encode } = encoderOf({ sessionId: 's' })
    encode(question)
    encode(call)
    encode(approval)
    encoder.end('paused')
    encode({ type: 'interrupt-response', interruptId: 'q1', response: {} }, { guest: 'ann' })
    expect(seen(encoder.resume())).toEqual([{ type: 'session', sessionId: 's' }])
    expect(seen(encoder.end('paused'))).toMatchObject([{ type: 'interrupt', requestId: 'a1' }, { type: 'done' }])
  })

  test('sends approved client tool calls as pendings, and none of sub-agents that have ended', () => {
    const { encoder, encode } = encoderOf()
    encode({ ...call, executor: 'client' } as Chunk, child)
    encode(approval, child)
    encode({ type: 'tool-approval-response', toolCallId: 'c1', approvalId: 'a1', approved: true }, { guest: 'ann' })
    expect(seen(encoder.end('paused'))).toMatchObject([{ requestId: 'c1', input: { kind: 'text' } }, { type: 'done' }])
    encoder.resume()
    encode({ type: 'subagent-end', agentId: 'child', agentType: 'w', toolCallId: 'p', status: 'failed' }, child)
    expect(seen(encoder.end('paused'))).toMatchObject([{ type: 'done' }])
  })
})

describe('paths that a Kortyx page does not accept', () => {
  const update = (kind: object): Chunk => ({ type: 'structured-data', streamId: 's', dataType: 'd', ...kind }) as Chunk
  const years = update({ kind: 'set', path: 'years', value: {} })
  const year = update({ kind: 'text-delta', path: 'years.2024.t', delta: 'x' })
  const final = update({ kind: 'final', data: { years: { 2024: { t: 'x' } } } })

  test.each([
    ['digits as a key', 'years.2024.t'],
    ['digits with a leading zero as a key', 'codes.007'],
    ['an inherited name as a key', 'constructor.x'],
    ['a key that replaces a prototype', '__proto__'],
  ])('holds back %s until the final', (_, path) => {
    const { encoder, encode } = encoderOf()
    expect(encode(years)).toEqual([years])
    const held = update({ kind: 'set', path, value: 1 })
    expect(encode(held)).toEqual([])
    expect(encoder.encode({ chunk: held, origin: main })).toMatchObject([{ content: { chunk: held } }])
    expect(encode(set)).toEqual([set])
    expect(encode(final)).toEqual([final])
  })

  test('sends digits as an index', () => {
    const { encode } = encoderOf()
    for (const path of ['rows.0.t', 'rows.2.t', 'rows.1.t']) {
      const row = update({ kind: 'text-delta', path, delta: 'x' })
      expect(encode(row)).toEqual([row])
    }
  })

  test('sends none of them after a discard, and on resume', () => {
    const { encoder, encode } = encoderOf()
    encode(years)
    encode(year)
    encode(checkpoint)
    encode(update({ kind: 'set', path: 'years', value: [] }))
    const first = update({ kind: 'set', path: 'years.0', value: 1 })
    expect(encode(first)).toEqual([first])
    expect(encode(discard)).toEqual([{ type: 'structured-data-invalidated', streamId: 's', checkpointId: 'cp' }, years])
    expect(encode(first)).toEqual([])
    encoder.end('paused')
    expect(seen(encoder.resume())).toEqual([years])
    expect(encode(year)).toEqual([])
    expect(encode(final)).toEqual([final])
  })
})

test('resends only incomplete structured objects on resume', () => {
  const { encoder, encode } = encoderOf()
  encode(set)
  encode({ type: 'structured-data', streamId: 'done', dataType: 'd', kind: 'final', data: 1 })
  encode(checkpoint)
  encode(more)
  encoder.end('paused')
  expect(seen(encoder.resume())).toEqual([set, more])
})

test('closes texts at the end, reports a stopped or failed run before done, and sends nothing after it', () => {
  for (const [status, message] of [
    ['failed', 'no more'],
    ['interrupted', 'The run was stopped.'],
    ['aborted', 'The run was stopped.'],
  ] as const) {
    const { encoder, encode } = encoderOf({ sessionId: 's', turnIndex: 1 })
    encode(checkpoint)
    encode({ type: 'text-start', id: 't' })
    expect(encode({ type: 'error', message: 'no more' })).toEqual([])
    expect(seen(encoder.end(status))).toEqual([
      { type: 'text-end', segmentId: 't' },
      { type: 'error', message },
      { type: 'done', data: { status } },
    ])
    expect(encoder.end(status)).toEqual([])
    expect(encoder.encode({ chunk: set, origin: main })).toEqual([])
  }
})

test('sends outputs as text and as structured content', () => {
  const output = (value: Chunk) => {
    const { encode } = encoderOf()
    encode(call)
    return encode(value)[0]
  }
  expect(output({ type: 'tool-output-available', toolCallId: 'c1', output: { kilos: 4 } })).toEqual({
    type: 'tool-call-result',
    tool: 'sell',
    toolCallId: 'c1',
    content: '{"kilos":4}',
    structuredContent: { kilos: 4 },
  })
  expect(output({ type: 'tool-output-available', toolCallId: 'c1', output: 'sold' })).toMatchObject({ content: 'sold' })
  expect(output({ type: 'tool-output-denied', toolCallId: 'c1', reason: 'no' })).toMatchObject({
    type: 'tool-call-result',
    isError: true,
    content: 'The call was denied: no',
  })
  expect(output({ type: 'tool-output-available', toolCallId: 'other', output: 1 })).toBeUndefined()
})
