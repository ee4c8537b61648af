import type { Chunk, Origin } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { kortyxDialect, type StreamChunk } from './index.ts'

const main: Origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'writer', step: 1 }
const child: Origin = { ...main, lane: 'main/c', agentId: 'child' }

/** What its clients look at of some chunks. */
const seen = (events: readonly StreamChunk[]) =>
  events.filter(({ type }) => type !== 'tool-result').map(({ millrace, ...event }) => event)

function speaking(options = {}) {
  const encoder = kortyxDialect.encoder(options)
  const say = (chunk: Chunk, origin = main) => seen(encoder.encode({ chunk, origin }))
  return { encoder, say }
}

const set: Chunk = { type: 'structured-data', streamId: 's', dataType: 'd', kind: 'set', path: 'a', value: 1 }
const more: Chunk = { type: 'structured-data', streamId: 's', dataType: 'd', kind: 'append', path: 'b', items: [2] }
const checkpoint: Chunk = { type: 'checkpoint-created', checkpointId: 'cp' }
const discard: Chunk = { type: 'step-discarded', reason: 'again' }
const call: Chunk = { type: 'tool-input-available', toolCallId: 'c1', toolName: 'sell', input: { what: 'rye' } }
const approval: Chunk = { type: 'tool-approval-request', toolCallId: 'c1', approvalId: 'a1', input: { what: 'rye' } }
const question: Chunk = { type: 'interrupt', interruptId: 'q1', input: { kind: 'form', schema: { type: 'object' } } }

describe('what is taken back', () => {
  test('a structured object is invalidated, and what a commit holds of it is said again', () => {
    const { say } = speaking()
    say(set)
    say(checkpoint)
    say(more)
    expect(say(discard)).toEqual([{ type: 'structured-data-invalidated', streamId: 's', checkpointId: 'cp' }, set])
    expect(say(discard)).toEqual([])
  })

  test('an object of which nothing was committed is gone', () => {
    const { say, encoder } = speaking()
    say(set)
    expect(say(discard)).toEqual([{ type: 'structured-data-invalidated', streamId: 's', checkpointId: '' }])
    expect(encoder.resume()).toEqual([])
  })

  test('words stay, closed, and what comes under their name is another text; of its calls nothing comes', () => {
    const { say } = speaking()
    say({ type: 'text-delta', id: 't', delta: 'er' })
    say(call)
    expect(say(discard)).toEqual([
      { type: 'text-end', segmentId: 't' },
      { type: 'tool-call-error', tool: 'sell', toolCallId: 'c1', message: 'The attempt was taken back.' },
    ])
    const [start, delta] = say({ type: 'text-delta', id: 't', delta: 'Well' })
    expect(start).toMatchObject({ type: 'text-start', segmentId: 't~1' })
    expect(delta).toMatchObject({ type: 'text-delta', segmentId: 't~1', delta: 'Well' })
  })

  test('another lane’s words are its own', () => {
    const { say } = speaking()
    say(set, { ...main, lane: 'other' })
    expect(say(discard)).toEqual([])
  })
})

describe('what waits', () => {
  test('is asked for when the run pauses, all of it, with its token; whoever asks, also a sub-agent', () => {
    const { say, encoder } = speaking({ sessionId: 's', turnIndex: 2, tokenOf: (id: string) => `t-${id}` })
    say(checkpoint)
    say(question)
    say(call, child)
    say(approval, child)
    const ended = seen(encoder.end('paused'))
    expect(ended.map(({ type }) => type)).toEqual(['interrupt', 'interrupt', 'checkpoint', 'done'])
    expect(ended).toMatchObject([
      { requestId: 'q1', resumeToken: 't-q1', input: { kind: 'text' }, meta: { schema: { type: 'object' } } },
      { requestId: 'a1', resumeToken: 't-a1', id: 'tool:c1', meta: { tool: 'sell', input: { what: 'rye' } } },
      { id: 'cp', sessionId: 's', turnIndex: 2 },
      { data: { status: 'paused' } },
    ])
  })

  test('is asked for again while it waits, and not once it is settled', () => {
    const { encoder, say } = speaking({ sessionId: 's' })
    say(question)
    say(call)
    say(approval)
    encoder.end('paused')
    say({ type: 'interrupt-response', interruptId: 'q1', response: {} }, { guest: 'ann' })
    expect(seen(encoder.resume())).toEqual([{ type: 'session', sessionId: 's' }])
    expect(seen(encoder.end('paused'))).toMatchObject([{ type: 'interrupt', requestId: 'a1' }, { type: 'done' }])
  })

  test('a client’s call that was approved waits for the client; one of a sub-agent that is over waits for nobody', () => {
    const { encoder, say } = speaking()
    say({ ...call, executor: 'client' } as Chunk, child)
    say(approval, child)
    say({ type: 'tool-approval-response', toolCallId: 'c1', approvalId: 'a1', approved: true }, { guest: 'ann' })
    expect(seen(encoder.end('paused'))).toMatchObject([{ requestId: 'c1', input: { kind: 'text' } }, { type: 'done' }])
    encoder.resume()
    say({ type: 'subagent-end', agentId: 'child', agentType: 'w', toolCallId: 'p', status: 'failed' }, child)
    expect(seen(encoder.end('paused'))).toMatchObject([{ type: 'done' }])
  })
})

test('who goes on is given the objects that are under way, and not those that are done', () => {
  const { encoder, say } = speaking()
  say(set)
  say({ type: 'structured-data', streamId: 'done', dataType: 'd', kind: 'final', data: 1 })
  say(checkpoint)
  say(more)
  encoder.end('paused')
  expect(seen(encoder.resume())).toEqual([set, more])
})

test('texts are closed at the end; a run that was stopped or failed says so before it is done, and nothing comes after', () => {
  for (const [status, message] of [
    ['failed', 'no more'],
    ['interrupted', 'The run was stopped.'],
    ['aborted', 'The run was stopped.'],
  ] as const) {
    const { encoder, say } = speaking({ sessionId: 's', turnIndex: 1 })
    say(checkpoint)
    say({ type: 'text-start', id: 't' })
    expect(say({ type: 'error', message: 'no more' })).toEqual([])
    expect(seen(encoder.end(status))).toEqual([
      { type: 'text-end', segmentId: 't' },
      { type: 'error', message },
      { type: 'done', data: { status } },
    ])
    expect(encoder.end(status)).toEqual([])
    expect(encoder.encode({ chunk: set, origin: main })).toEqual([])
  }
})

test('outputs are said as text, and as what they are', () => {
  const output = (value: Chunk) => {
    const { say } = speaking()
    say(call)
    return say(value)[0]
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
