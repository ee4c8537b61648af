// Foreign streams that report an error and continue: the error ends the run in every dialect, and no later event turns it into a success (law 7).

import { createChat } from '@millrace/client'
import type { DecodedChunk, Dialect } from '@millrace/dialects'
import { agUi } from '@millrace/dialects/ag-ui'
import { aiSdk } from '@millrace/dialects/ai-sdk'
import type { ForeignConnection } from '@millrace/dialects/foreign-server'
import { helix, helixDialect } from '@millrace/dialects/helix'
import { kortyx } from '@millrace/dialects/kortyx'
import { tanstack } from '@millrace/dialects/tanstack'
import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { arbitraryChunk } from '../packages/protocol/src/catalogue/chunk.fixture.ts'
import { multiplied } from '../scripts/faults/campaign.ts'
import { DIALECTS } from './dialects.fixture.ts'

interface ForeignEvents {
  readonly start: readonly object[]
  readonly text: (text: string) => object
  /** Each one ends the run. */
  readonly failures: readonly object[]
  /** Events that would end, pause or restart a run that has not failed. */
  readonly ends: readonly object[]
  readonly connect?: (options: { readonly api: string; readonly fetch: typeof fetch }) => ForeignConnection
}

const agUiEvents: ForeignEvents = {
  start: [
    { type: 'RUN_STARTED', threadId: 't', runId: 'r' },
    { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
  ],
  text: delta => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta }),
  failures: [{ type: 'RUN_ERROR', message: 'no more' }],
  ends: [
    { type: 'RUN_FINISHED', threadId: 't', runId: 'r' },
    { type: 'RUN_FINISHED', threadId: 't', runId: 'r', outcome: { type: 'cancelled' } },
    {
      type: 'RUN_FINISHED',
      threadId: 't',
      runId: 'r',
      outcome: { type: 'interrupt', interrupts: [{ id: 'i', reason: 'input_required' }] },
    },
    { type: 'RUN_STARTED', threadId: 't', runId: 'r2' },
    { type: 'CUSTOM', name: 'tool-input-available', value: { toolCallId: 'c', toolName: 'x', input: {} } },
  ],
}

/** Events that the AI SDK and MUI X Chat share. */
const messageEvents: ForeignEvents = {
  start: [
    { type: 'start', messageId: 'm' },
    { type: 'text-start', id: 't' },
  ],
  text: delta => ({ type: 'text-delta', id: 't', delta }),
  failures: [{ type: 'error', errorText: 'no more' }],
  ends: [
    { type: 'finish', messageId: 'm', finishReason: 'stop' },
    { type: 'start', messageId: 'm2' },
    { type: 'abort' },
    { type: 'tool-approval-request', toolCallId: 'c', toolName: 'x', input: 1, approvalId: 'a' },
  ],
}

const interrupt = (requestId: string) => ({
  type: 'interrupt',
  requestId,
  resumeToken: `t-${requestId}`,
  input: { kind: 'text', multiple: false },
})

const base = { id: 'reply', model: 'm', timestamp: 1 }
const helixBase = { agentId: 'run', agentType: 'a', timestamp: 1, step: 1 }
const helixChunk = (chunk: object) => ({ type: 'chunk', chunk: { ...chunk, ...helixBase } })

const EVENTS: { readonly [dialect: string]: ForeignEvents } = {
  mui: messageEvents,
  'ai-sdk': { ...messageEvents, connect: aiSdk },
  tanstack: {
    start: [],
    text: delta => ({ ...base, type: 'content', delta, content: delta }),
    failures: [{ ...base, type: 'error', error: { message: 'no more' } }],
    ends: [
      { ...base, type: 'done', finishReason: 'stop' },
      { ...base, type: 'done', finishReason: 'tool_calls' },
      { ...base, type: 'tool-input-available', toolCallId: 'c', toolName: 'x', input: {} },
    ],
    connect: options => tanstack({ ...options, protocol: 'chunks' }),
  },
  'tanstack-ag-ui': { ...agUiEvents, connect: tanstack },
  'ag-ui': { ...agUiEvents, connect: agUi },
  kortyx: {
    start: [{ type: 'session', sessionId: 's' }],
    text: delta => ({ type: 'text-delta', node: 'n', delta }),
    failures: [{ type: 'error', message: 'no more' }],
    ends: [{ type: 'done' }, { type: 'done', data: { status: 'completed' } }, interrupt('q')],
    connect: kortyx,
  },
  helix: {
    start: [],
    text: delta => helixChunk({ type: 'text_delta', delta }),
    failures: [helixChunk({ type: 'error', error: 'no more', recoverable: false }), { type: 'fail', error: 'no more' }],
    ends: [
      { type: 'end', finalOutput: 1 },
      { type: 'stream_end', streamId: 's', timestamp: 1 },
      { type: 'status', status: 'paused' },
      { type: 'status', status: 'active' },
      helixChunk({ type: 'run_paused', runId: 'run', reason: 'waits' }),
      helixChunk({ type: 'run_interrupted', runId: 'run', checkpointId: null }),
    ],
    connect: helix,
  },
}

describe.each(DIALECTS)('law 7: after an error, $name', dialect => {
  const events = EVENTS[dialect.name] as ForeignEvents

  test('stays failed and decodes nothing, whatever follows', () => {
    const more = fc.array(
      fc.oneof(fc.constantFrom<unknown>(events.text('MORE'), ...events.ends, ...events.failures), fc.jsonValue()),
      { maxLength: 6 },
    )
    const property = fc.property(fc.constantFrom(...events.failures), more, (failure, later) => {
      const decoder = dialect.decoder()
      for (const event of [...events.start, events.text('one'), failure]) decoder.decode(event)
      expect(decoder.status).toBe('failed')
      const decoded = later.flatMap(event => decoder.decode(event))
      expect({ decoded, status: decoder.status }).toEqual({ decoded: [], status: 'failed' })
    })
    fc.assert(property, { numRuns: multiplied(200) })
  })
})

const CONNECTABLE = Object.entries(EVENTS).flatMap(([name, events]) =>
  events.connect ? [{ name, ...events, connect: events.connect }] : [],
)

describe.each(CONNECTABLE)('law 7: our chat on a server of $name', events => {
  test('shows the error and no later text, also on a connection that stays open', async () => {
    for (const failure of events.failures) {
      const cancelled = Promise.withResolvers<void>()
      const sent = [...events.start, events.text('one'), failure, events.text('MORE'), ...events.ends]
      const fetch = async () =>
        new Response(openBody(sent, cancelled.resolve), { headers: { 'content-type': 'text/event-stream' } })
      const errors: string[] = []
      const finished = Promise.withResolvers<boolean>()
      const chat = createChat({
        connection: events.connect({ api: 'http://peer.test', fetch }),
        onError: ({ message }) => errors.push(message),
        onFinish: ({ isError }) => finished.resolve(isError),
      })
      onTestFinished(chat.start())
      await chat.sendMessage('hi')
      expect(await finished.promise).toBe(true)
      await cancelled.promise
      expect({ status: chat.state.status, errors }).toEqual({ status: 'error', errors: ['no more'] })
      expect(chat.store.messages.map(({ role, status }) => `${role} ${status}`)).toEqual([
        'user sent',
        'assistant error',
      ])
      expect(JSON.stringify(chat.store.messages)).not.toContain('MORE')
    }
  })
})

test('law 7: a failed stream of ours ends with the error of its run, not with one of a sub-agent or of an earlier run', () => {
  const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'a', step: 1 }
  const child = { ...origin, lane: 'main/c', agentId: 'c', agentType: 'c' }
  const started = { chunk: { type: 'run-started', program: 'agent:a@1' }, origin } as const
  const ended = { chunk: { type: 'run-finished', status: 'failed' }, origin } as const
  const error = (message: string, origin: DecodedChunk['origin']) =>
    ({ chunk: { type: 'error', message }, origin }) as DecodedChunk
  const start = { type: 'subagent-start', agentId: 'c', agentType: 'c', toolCallId: 't', lane: child.lane } as const
  for (const dialect of DIALECTS) {
    const encoder = dialect.encoder()
    const written = [
      started,
      { chunk: start, origin },
      error('of the run', origin),
      error('of the child', child),
      ended,
    ]
    const events = [...written.flatMap(entry => encoder.encode(entry)), ...encoder.end('failed')]
    const failures = events.filter(event => /^(error|fail|RUN_ERROR)$/.test((event as { type: string }).type))
    expect([dialect.name, JSON.stringify(failures)]).toEqual([dialect.name, expect.stringContaining('of the run')])
    expect(JSON.stringify(failures)).not.toContain('of the child')
  }
  const encoder = helixDialect.encoder()
  for (const entry of [started, error('of the run', origin), ended, started, ended]) encoder.encode(entry)
  expect(encoder.end('failed')).toEqual([{ type: 'fail', error: 'The run failed.' }])
})

test('law 7: a stream of ours that failed decodes nothing more, except the next run of a Helix session', () => {
  const property = fc.property(fc.array(arbitraryChunk(), { maxLength: 6 }), chunks => {
    for (const dialect of DIALECTS) {
      const decoder = failedDecoder(dialect)
      const encoder = dialect.encoder()
      const later = chunks.flatMap(chunk => encoder.encode({ chunk }))
      const decoded = later.flatMap(event => decoder.decode(JSON.parse(JSON.stringify(event))))
      if (dialect.name !== 'helix')
        expect({ decoded, status: decoder.status }).toEqual({ decoded: [], status: 'failed' })
      else expect(decoded).toHaveLength(chunks.length)
    }
  })
  fc.assert(property, { numRuns: multiplied(100) })
})

test('law 7: a failed reply to the first of several answers of Kortyx is not replaced by the next one', async () => {
  const replies = [
    [interrupt('a'), interrupt('b'), { type: 'done' }],
    [{ type: 'error', message: 'no more' }, { type: 'done' }],
    [{ type: 'done' }],
  ]
  let requests = 0
  const fetch = async () =>
    new Response(bodyOf(replies[requests++] ?? []), { headers: { 'content-type': 'text/event-stream' } })
  const finished = Promise.withResolvers<boolean>()
  const chat = createChat({
    connection: kortyx({ api: 'http://peer.test', fetch }),
    onFinish: ({ isError }) => finished.resolve(isError),
  })
  onTestFinished(chat.start())
  await chat.sendMessage('hi')
  await expect.poll(() => chat.store.pendings.length).toBe(2)
  for (const id of ['a', 'b']) await chat.answer({ kind: 'interrupt', id, response: 'yes' })
  expect(await finished.promise).toBe(true)
  expect({ requests, status: chat.state.status }).toEqual({ requests: 2, status: 'error' })
})

/** A decoder that has read a failed run of ours. */
function failedDecoder(dialect: Dialect<unknown>) {
  const encoder = dialect.encoder()
  const decoder = dialect.decoder()
  const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'a', step: 1 }
  const run = [
    { type: 'run-started', program: 'agent:a@1' },
    { type: 'error', message: 'no more' },
    { type: 'run-finished', status: 'failed' },
  ] as const
  const events = [...run.flatMap(chunk => encoder.encode({ chunk, origin })), ...encoder.end('failed')]
  for (const event of events) decoder.decode(JSON.parse(JSON.stringify(event)))
  expect(decoder.status).toBe('failed')
  return decoder
}

describe('Helix', () => {
  const decodeAll = (...events: readonly object[]) => {
    const decoder = helixDialect.decoder()
    const types = events.flatMap(event => decoder.decode(event as never).map(({ chunk }) => chunk.type))
    return { types, status: decoder.status }
  }
  const text = helixChunk({ type: 'text_delta', delta: 'on' })

  test('continues after a recoverable error, and after the error of a sub-agent', () => {
    const recoverable = helixChunk({ type: 'error', error: 'overloaded', recoverable: true })
    expect(decodeAll(recoverable, text, { type: 'end' })).toEqual({
      types: ['error', 'text-delta', 'text-end'],
      status: 'completed',
    })
    const start = { type: 'subagent_start', subAgentType: 's', subSessionId: 'child', callId: 'c' }
    const ofChild = {
      type: 'chunk',
      chunk: { ...helixBase, agentId: 'child', type: 'error', error: 'no', recoverable: false },
    }
    expect(decodeAll(helixChunk(start), ofChild, text, { type: 'end' })).toMatchObject({ status: 'completed' })
  })

  test('ends a sub-agent as failed after its error, unless it recovered or resumed', () => {
    const about = { subAgentType: 's', subSessionId: 'child', callId: 'c' }
    const child = (chunk: object) => ({ type: 'chunk', chunk: { ...helixBase, agentId: 'child', ...chunk } })
    const error = (recoverable: boolean) => child({ type: 'error', error: 'no more', recoverable })
    const resumed = child({
      type: 'run_resumed',
      runId: 'r',
      fromCheckpointId: null,
      fromStepCount: 0,
      mode: 'continue',
    })
    const endAfter = (...events: readonly object[]) => {
      const decoder = helixDialect.decoder()
      const all = [
        helixChunk({ type: 'subagent_start', ...about }),
        ...events,
        helixChunk({ type: 'subagent_end', ...about, result: null }),
      ]
      return all.flatMap(event => decoder.decode(event as never)).at(-1)?.chunk
    }
    const completed = { type: 'subagent-end', agentId: 'child', status: 'completed', result: null }
    expect(endAfter(error(false))).toMatchObject({ ...completed, status: 'failed', reason: 'no more' })
    for (const events of [[], [error(true)], [error(false), resumed]]) {
      expect(endAfter(...events)).toMatchObject(completed)
      expect(endAfter(...events)).not.toHaveProperty('reason')
    }
  })

  test('shows why the run failed, not an earlier error that it recovered from or that of a sub-agent', () => {
    const child = { ...helixBase, agentId: 'child', agentType: 's' }
    const start = { type: 'subagent_start', subAgentType: 's', subSessionId: 'child', callId: 'c' }
    const ofChild = { type: 'chunk', chunk: { ...child, type: 'error', error: 'of the child', recoverable: false } }
    const recovered = helixChunk({ type: 'error', error: 'overloaded', recoverable: true })
    const last = { type: 'fail', error: 'no more' }
    const errorsIn = (...events: readonly object[]) => {
      const decoder = helixDialect.decoder()
      const chunks = events.flatMap(event => decoder.decode(event as never))
      return chunks.flatMap(({ chunk, origin }) => (chunk.type === 'error' && !origin ? [chunk.message] : []))
    }
    expect(errorsIn(helixChunk(start), ofChild, last)).toEqual(['no more'])
    expect(errorsIn(recovered, last)).toEqual(['overloaded', 'no more'])
    expect(errorsIn(helixChunk({ type: 'error', error: 'no more', recoverable: true }), last)).toEqual(['no more'])
  })

  test('begins again with `run_resumed` after a failure', () => {
    const failure = helixChunk({ type: 'error', error: 'no', recoverable: false })
    const resumed = { type: 'run_resumed', runId: 'run', fromCheckpointId: null, fromStepCount: 0, mode: 'continue' }
    expect(decodeAll(failure, text, helixChunk(resumed), text, { type: 'end' })).toEqual({
      types: ['error', 'run-resumed', 'text-delta', 'text-end'],
      status: 'completed',
    })
  })
})

const bodyOf = (events: readonly object[]): string => events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')

/** A body that sends all events at once and stays open. */
function openBody(events: readonly object[], onCancel: () => void): ReadableStream<Uint8Array> {
  const text = bodyOf(events)
  return new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(new TextEncoder().encode(text)),
    cancel: onCancel,
  })
}
