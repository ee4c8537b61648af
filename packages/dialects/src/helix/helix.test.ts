import type { Chunk } from '@millrace/protocol'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { z } from 'zod'
import { EventReader } from '../http/event-reader.ts'
import type { StreamChunk, StreamEvent, StreamMessage } from './index.ts'
import * as helix from './index.ts'
import { page } from './page.fixture.ts'
import { JSONPatchOperationSchema, StreamChunkSchema, StreamEventSchema, StreamMessageSchema } from './schemas.ts'

const { helixDialect } = helix
const base = { agentId: 'run-123', agentType: 'assistant', timestamp: 1, step: 1 }

/** Decodes messages. */
function decodeAll(messages: readonly (StreamMessage | StreamEvent)[]): Chunk[] {
  const decoder = helixDialect.decoder()
  return messages.flatMap(message => decoder.decode(message).map(({ chunk }) => chunk))
}

async function* from<T>(items: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* items
}

describe('documented chunks', () => {
  it('has all 31 documented chunks and the end, each with its guard', () => {
    const types = new Set(page.map(({ type }) => type))
    expect(StreamChunkSchema.options).toHaveLength(31)
    expect(StreamMessageSchema.options.map(option => option.shape.type.value).sort()).toEqual([...types].sort())
    const guards = Object.entries(helix).filter(([name]) => name.startsWith('is')) as [
      string,
      (message: StreamMessage) => boolean,
    ][]
    expect(guards).toHaveLength(32)
    for (const type of types) {
      const message = page.find(one => one.type === type) as StreamMessage
      expect(guards.filter(([, isIt]) => isIt(message))).toHaveLength(1)
    }
    expect(helix.isToolApprovalRequestChunk({ type: 'tool_approval_request' })).toBe(true)
    expect(helix.isToolApprovalResponseChunk({ type: 'tool_approval_response' })).toBe(true)
  })

  it('accepts the documented chunks in its schemas, and derives equal types from them', () => {
    for (const message of page) {
      expect(StreamMessageSchema.parse(message)).toEqual(message)
      expect(StreamChunkSchema.safeParse(message).success).toBe(message.type !== 'stream_end')
      const { timestamp, ...less } = message
      expect(StreamMessageSchema.safeParse(less).success).toBe(false)
    }
    expectTypeOf<z.output<typeof StreamChunkSchema>>().toExtend<StreamChunk>()
    expectTypeOf<z.output<typeof StreamMessageSchema>>().toExtend<StreamMessage>()
    expectTypeOf<z.output<typeof StreamEventSchema>>().toExtend<StreamEvent>()
    expect(JSONPatchOperationSchema.safeParse({ op: 'merge', path: '' }).success).toBe(false)
  })

  it('decodes the documented chunks one after another', () => {
    const chunks = decodeAll(page)
    expect(chunks.map(({ type }) => type)).toEqual([
      'step-start',
      'reasoning-delta',
      'reasoning-delta',
      'reasoning-end',
      'text-delta',
      'text-delta',
      'source-url',
      'source-document',
      'file',
      'text-end',
      'tool-input-start',
      'tool-input-delta',
      'tool-input-available',
      'step-finish',
      'checkpoint-created',
      'tool-approval-request',
      'run-paused',
      'run-paused',
      'tool-approval-response',
      'run-resumed',
      'tool-output-available',
      'tool-input-error',
      'tool-output-error',
      'subagent-start',
      'text-delta',
      'subagent-end',
      'data-progress',
      'state-patch',
      'executor-superseded',
      'step-discarded',
      'step-discarded',
      'error',
      'output',
      'run-finished',
    ])
    expect(chunks.find(({ type }) => type === 'run-paused')).toMatchObject({
      awaits: [{ kind: 'approval', id: 'run-123::call-1', toolCallId: 'call-1', toolName: 'search' }],
    })
    expect(chunks.at(-1)).toEqual({ type: 'run-finished', status: 'interrupted', reason: 'enough' })
  })
})

describe('documented examples', () => {
  it('Writing: accepts a chunk as it is passed to a writer', () => {
    const written = {
      type: 'text_delta',
      delta: 'Hello',
      agentId: 'r',
      agentType: 'assistant',
      timestamp: Date.now(),
      step: 0,
    }
    const parsed = StreamChunkSchema.safeParse(written)
    expect(parsed.success).toBe(true)
    if (parsed.success) expectTypeOf(parsed.data).toExtend<StreamChunk>()
  })

  it('SSE Encoding: decodes chunks without base fields', () => {
    const text = `id: 1
data: {"type":"chunk","chunk":{"type":"text_delta","delta":"Hello"},"sequence":1}

id: 2
data: {"type":"chunk","chunk":{"type":"text_delta","delta":" world"},"sequence":2}

id: 3
data: {"type":"end"}

`
    const decoder = helixDialect.decoder()
    const wire = new EventReader('sse').push(text)
    expect(wire.map(({ id }) => id)).toEqual(['1', '2', '3'])
    const decodedChunks = wire.flatMap(({ data }) => decoder.decode(JSON.parse(data)))
    expect(decodedChunks).toEqual([
      { chunk: { type: 'text-delta', id: 'text-1', delta: 'Hello' }, sequence: 1 },
      { chunk: { type: 'text-delta', id: 'text-1', delta: ' world' }, sequence: 2 },
      { chunk: { type: 'text-end', id: 'text-1' } },
    ])
    expect(decoder.status).toBe('completed')
  })

  it('Wire Format: accepts each event with its fields', () => {
    const wire: readonly StreamEvent[] = [
      { type: 'chunk', chunk: { type: 'text_delta', delta: 'x', ...base }, sequence: 7 },
      { type: 'chunk', chunk: { type: 'text_delta', delta: 'x', ...base } },
      { type: 'end' },
      { type: 'end', finalOutput: { a: 1 } },
      { type: 'fail', error: 'Something went wrong' },
      { type: 'status', status: 'paused' },
      { type: 'status', status: 'active' },
      { type: 'truncated', truncatedAtStep: 3 },
      { type: 'truncated', truncatedAtStep: 3, atSequence: 9 },
    ]
    for (const event of wire) expect(StreamEventSchema.parse(event)).toEqual(event)
  })

  it('Ending: ends normally, with an output, and with an error', () => {
    const encoder = helixDialect.encoder()
    expect(encoder.end('completed')).toEqual([{ type: 'end' }])
    encoder.encode({ chunk: { type: 'output', output: 1 } })
    expect(encoder.end('completed')).toEqual([{ type: 'end', finalOutput: 1 }])
    encoder.encode({ chunk: { type: 'error', message: 'Something went wrong' } })
    expect(encoder.end('failed')).toEqual([{ type: 'fail', error: 'Something went wrong' }])
  })

  it('Filtering Streams: filters chunks by each helper', async () => {
    const chunks = page.filter((message): message is StreamChunk => message.type !== 'stream_end')
    const stream = () => helix.filterWith(from(chunks), () => true)
    const typesOf = async (some: AsyncIterable<StreamChunk>) => (await helix.collectAll(some)).map(({ type }) => type)
    const runChunks = await helix.collectAll(helix.filterByAgentId(stream(), 'run-123'))
    expect(runChunks).toHaveLength(chunks.length - 1)
    expect(await typesOf(helix.filterByAgentType(stream(), 'researcher'))).toEqual(['text_delta'])
    expect(new Set(await typesOf(helix.filterByType(stream(), ['text_delta'])))).toEqual(new Set(['text_delta']))
    expect(await typesOf(helix.excludeTypes(stream(), ['thinking']))).not.toContain('thinking')
    const important = helix.filterWith(stream(), chunk => chunk.type === 'error' || chunk.type === 'output')
    expect(await typesOf(important)).toEqual(['error', 'output'])
    expect(await helix.collectAll(helix.combineStreams([stream(), stream()]))).toHaveLength(2 * chunks.length)
    expect(await helix.collectText(stream())).toBe('Hello worldResearching')
    expect(await typesOf(helix.take(helix.skip(stream(), 4), 2))).toEqual(['text_delta', 'text_delta'])
  })

  it('Type Guards: narrows text and tool chunks', () => {
    const out: string[] = []
    for (const chunk of page) {
      if (helix.isTextDeltaChunk(chunk)) out.push(chunk.delta)
      else if (helix.isToolStartChunk(chunk)) out.push(`Tool: ${chunk.toolName}`)
    }
    expect(out).toEqual(['Hello', ' world', 'Tool: search', 'Researching'])
  })
})

describe('decoder', () => {
  it('decodes a complete thinking block as a block without deltas, and as an end after its deltas', () => {
    const thinking = (content: string, isComplete: boolean) =>
      ({ type: 'thinking', content, isComplete, ...base }) as const
    expect(decodeAll([thinking('All of it.', true)])).toEqual([
      { type: 'reasoning-delta', id: 'reasoning-1', delta: 'All of it.' },
      { type: 'reasoning-end', id: 'reasoning-1' },
    ])
    expect(decodeAll([thinking('All', false), thinking('All of it.', true), thinking('More.', false)])).toEqual([
      { type: 'reasoning-delta', id: 'reasoning-1', delta: 'All' },
      { type: 'reasoning-end', id: 'reasoning-1' },
      { type: 'reasoning-delta', id: 'reasoning-2', delta: 'More.' },
    ])
  })

  it('decodes a tool failure once, from either of its two chunks or both', () => {
    const call = { toolCallId: 'c', toolName: 't', ...base }
    const end = {
      type: 'tool_end',
      result: null,
      error: 'down',
      errorCode: 'x',
      providerExecuted: true,
      ...call,
    } as const
    const error = { type: 'tool_output_error', error: 'down', ...call } as const
    const toolError = { type: 'tool-output-error', toolCallId: 'c', errorText: 'down', code: 'x', executor: 'server' }
    expect(decodeAll([end])).toEqual([toolError])
    expect(decodeAll([end, error])).toEqual([toolError])
    expect(decodeAll([error, end])).toEqual([{ type: 'tool-output-error', toolCallId: 'c', errorText: 'down' }])
  })

  it('decodes a tool result without providerExecuted as a result of the client', () => {
    const end = { type: 'tool_end', toolCallId: 'c', toolName: 't', result: 1, ...base } as const
    expect(decodeAll([end])).toMatchObject([{ executor: 'client' }])
    expect(decodeAll([{ ...end, providerExecuted: false }])).toMatchObject([{ executor: 'client' }])
    expect(decodeAll([{ ...end, providerExecuted: true }])).toMatchObject([{ executor: 'server' }])
  })

  it('gives chunks of a sub-agent their own origin', () => {
    const decoder = helixDialect.decoder()
    const decodedChunks = page.flatMap(message => decoder.decode(message))
    const withOrigin = decodedChunks.filter(({ origin }) => origin)
    expect(withOrigin.map(({ chunk }) => chunk.type)).toEqual(['text-delta'])
    expect(withOrigin[0]?.origin).toEqual({
      runId: 'run-123',
      lane: 'sub-1',
      agentId: 'sub-1',
      agentType: 'researcher',
      step: 1,
    })
  })

  it('decodes a suspension marker only if no earlier chunk named the pendings', () => {
    const marker = (kind: string, payload: object) =>
      ({ type: 'suspension_marker', kind, payload, ...base }) as StreamMessage
    expect(decodeAll([marker('suspended_step_partial', { toolCallIds: ['a', 'b'], stepId: 's' })])).toEqual([
      {
        type: 'run-paused',
        reason: 'suspended_step_partial',
        awaits: [
          { kind: 'client-tool', id: 'a', toolCallId: 'a' },
          { kind: 'client-tool', id: 'b', toolCallId: 'b' },
        ],
      },
    ])
    expect(decodeAll([marker('suspended_awaiting_children', { children: [{ subSessionId: 'x' }] })])).toMatchObject([
      { awaits: [{ kind: 'children', agentIds: ['x'] }] },
    ])
    const paused = { type: 'run_paused', runId: 'r', reason: 'why', ...base } as const
    expect(decodeAll([paused, marker('suspended_client_tool', { toolCallIds: ['a'] })])).toHaveLength(1)
  })

  it('decodes a resync as a discard of uncommitted content or as a rewind', () => {
    const resync = {
      type: 'stream_resync',
      checkpointId: 'c',
      stepCount: 1,
      messageCount: 2,
      fromSequence: 9,
      ...base,
    } as const
    expect(decodeAll([{ ...resync, reason: 'crash_recovery' }])).toEqual([
      { type: 'step-discarded', reason: 'crash_recovery' },
    ])
    for (const reason of ['rollback', 'branch', 'retry'] as const) {
      expect(decodeAll([{ ...resync, reason }])).toEqual([{ type: 'rewind', toSequence: 9, reason }])
    }
  })

  it('law 7: reports no status before the end', () => {
    const decoder = helixDialect.decoder()
    const statuses: unknown[] = []
    const see = (event: StreamEvent | StreamMessage) => {
      decoder.decode(event)
      statuses.push(decoder.status)
    }
    see({ type: 'text_delta', delta: 'x', ...base })
    see({ type: 'status', status: 'paused' })
    see({ type: 'status', status: 'active' })
    see({ type: 'run_interrupted', runId: 'r', checkpointId: 'c', ...base })
    see({ type: 'end' })
    expect(statuses).toEqual([undefined, 'paused', undefined, 'interrupted', 'interrupted'])
    expect(decodeAll([{ type: 'fail', error: 'Something went wrong' }])).toEqual([
      { type: 'error', message: 'Something went wrong' },
    ])
    expect(decodeAll([{ type: 'stream_end', streamId: 's', timestamp: 1, finalOutput: 2 }])).toEqual([
      { type: 'output', output: 2 },
    ])
  })

  it('decodes a truncation only if it affects the reader', () => {
    const read: StreamEvent = { type: 'chunk', chunk: { type: 'text_delta', delta: 'x', ...base }, sequence: 5 }
    expect(() => decodeAll([read, { type: 'truncated', truncatedAtStep: 1, atSequence: 5 }])).not.toThrow()
    expect(() => decodeAll([read, { type: 'truncated', truncatedAtStep: 1, atSequence: 6 }])).toThrow('snapshot')
    expect(() => decodeAll([read, { type: 'truncated', truncatedAtStep: 1 }])).toThrow('snapshot')
  })

  it('rejects an invalid event and skips an unknown chunk', () => {
    expect(() => decodeAll([{} as never])).toThrow('expected an object with a type')
    expect(() => decodeAll([{ type: 'chunk' } as never])).toThrow('expected a chunk')
    expect(() => decodeAll([{ type: 'custom', eventName: 'millrace', data: 1, ...base }])).toThrow('expected { chunk }')
    expect(decodeAll([{ type: 'of_tomorrow', ...base } as never])).toEqual([])
  })
})

describe('encoder', () => {
  it('puts the sequence on the last of several chunks for one entry', () => {
    const encoder = helixDialect.encoder()
    const encode = (chunk: Chunk, sequence: number) => encoder.encode({ chunk, sequence, timestamp: 1 })
    const start = { type: 'tool-input-start', toolCallId: 'c', toolName: 't' } as const
    expect(encode(start, 1)).toHaveLength(1)
    const events = encode({ ...start, type: 'tool-input-available', input: {} }, 2)
    expect(events).toMatchObject([
      { chunk: { type: 'tool_arg_stream_end' } },
      { chunk: { type: 'tool_start' }, sequence: 2 },
    ])
    expect(events[0]).not.toHaveProperty('sequence')
  })

  it('resyncs with crash_recovery to the last commit of the lane after a takeover', () => {
    const encoder = helixDialect.encoder()
    const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'a', step: 2 }
    const chunks: Chunk[] = [
      { type: 'run-started', program: 'agent:a@1' },
      { type: 'message', messageId: 'm', role: 'user', parts: [] },
      { type: 'start' },
      { type: 'checkpoint-created', checkpointId: 'cp', stepCount: 1, closesStep: true },
      { type: 'text-delta', id: 't', delta: 'x' },
      { type: 'executor-superseded' },
      { type: 'step-discarded', reason: 'superseded' },
    ]
    const events = chunks.flatMap((chunk, i) => encoder.encode({ chunk, origin, sequence: i + 1, timestamp: 1 }))
    expect(events.at(-1)).toMatchObject({
      chunk: {
        type: 'stream_resync',
        checkpointId: 'cp',
        stepCount: 1,
        messageCount: 2,
        fromSequence: 4,
        reason: 'crash_recovery',
      },
    })
  })

  it('never encodes a suspension marker or a second chunk for a tool failure', () => {
    const encoder = helixDialect.encoder()
    const failed: Chunk[] = [
      { type: 'run-paused', awaits: [{ kind: 'client-tool', id: 'c', toolCallId: 'c' }] },
      { type: 'tool-output-error', toolCallId: 'c', errorText: 'down' },
      { type: 'tool-output-denied', toolCallId: 'd' },
    ]
    const types = failed
      .flatMap(chunk => encoder.encode({ chunk }))
      .map(event => event.type === 'chunk' && event.chunk.type)
    expect(types).toEqual(['run_paused', 'tool_end', 'tool_end'])
  })

  it('completes a thinking block that is open when its run ends', () => {
    const encoder = helixDialect.encoder()
    encoder.encode({ chunk: { type: 'reasoning-delta', id: 'r', delta: 'Well' } })
    encoder.encode({ chunk: { type: 'reasoning-delta', id: 'r', delta: ', then' } })
    const [whole] = encoder.encode({ chunk: { type: 'run-finished', status: 'interrupted' } })
    expect(whole).toMatchObject({ chunk: { type: 'thinking', content: 'Well, then', isComplete: true } })
  })
})
