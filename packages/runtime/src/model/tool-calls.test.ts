import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { LogError } from '@millrace/log'
import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type AnyTool, tool } from '../define/tool.ts'
import { readAnswer, signed } from './model-answer.fixture.ts'
import { finish } from './model-run.fixture.ts'

const call = (toolCallId: string, toolName: string, input: string, more: object = {}): LanguageModelV4StreamPart => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input,
  ...more,
})
const ran = { providerExecuted: true }
const result = (toolCallId: string, value: unknown, more: object = {}): LanguageModelV4StreamPart => ({
  type: 'tool-result',
  toolCallId,
  toolName: 'search',
  result: value as never,
  ...more,
})
describe('calls', () => {
  test('streams an input and completes the call', async () => {
    const { chunks, answer } = await readAnswer([
      { type: 'tool-input-start', id: 'c', toolName: 'look', ...signed('1') },
      { type: 'tool-input-delta', id: 'c', delta: '{"city":' },
      { type: 'tool-input-delta', id: 'c', delta: '"Ulm"}' },
      { type: 'tool-input-end', id: 'c' },
      call('c', 'look', '{"city":"Ulm"}', { providerMetadata: { maker: { thought: '2' } } }),
      finish('tool-calls'),
    ])
    expect(chunks).toEqual([
      {
        type: 'tool-input-start',
        toolCallId: 'c',
        toolName: 'look',
        executor: 'server',
        title: 'Look it up',
        ...signed('1'),
      },
      { type: 'tool-input-delta', toolCallId: 'c', delta: '{"city":' },
      { type: 'tool-input-delta', toolCallId: 'c', delta: '"Ulm"}' },
      {
        type: 'tool-input-available',
        toolCallId: 'c',
        toolName: 'look',
        input: { city: 'Ulm' },
        executor: 'server',
        title: 'Look it up',
        providerMetadata: { maker: { signature: '1', thought: '2' } },
      },
    ])
    expect(answer).toMatchObject({ calls: 1, requestedCalls: { length: 1 }, finishReason: 'tool-calls' })
  })

  test('supports interleaved inputs', async () => {
    const { chunks, answer } = await readAnswer([
      { type: 'tool-input-start', id: 'a', toolName: 'look' },
      { type: 'tool-input-start', id: 'b', toolName: 'look' },
      { type: 'tool-input-delta', id: 'a', delta: '{"city":"A"}' },
      { type: 'tool-input-delta', id: 'b', delta: '{"city":"B"}' },
      call('b', 'look', '{"city":"B"}'),
      call('a', 'look', '{"city":"A"}'),
    ])
    expect(chunks.filter(({ type }) => type === 'tool-input-available')).toMatchObject([
      { toolCallId: 'b', input: { city: 'B' } },
      { toolCallId: 'a', input: { city: 'A' } },
    ])
    expect(answer).toMatchObject({ calls: 2, requestedCalls: { length: 2 } })
  })

  test('accepts a call without a start, and ignores deltas without one', async () => {
    const { types } = await readAnswer([
      { type: 'tool-input-delta', id: 'c', delta: '{' },
      { type: 'tool-input-end', id: 'c' },
      call('c', 'look', '{"city":"Ulm"}', { dynamic: true }),
    ])
    expect(types).toEqual(['tool-input-available'])
  })

  test('logs a raw text input as JSON', async () => {
    const { chunks } = await readAnswer([
      { type: 'tool-input-start', id: 'c', toolName: 'note', inputEncoding: 'text' },
      { type: 'tool-input-delta', id: 'c', delta: 'a "b"\n' },
      { type: 'tool-input-delta', id: 'c', delta: '\ud83d' },
      { type: 'tool-input-delta', id: 'c', delta: '\ude00' },
      { type: 'tool-input-end', id: 'c' },
      call('c', 'note', '"a \\"b\\"\\n\ud83d\ude00"'),
    ])
    const text = chunks.map(chunk => (chunk.type === 'tool-input-delta' ? chunk.delta : '')).join('')
    expect(JSON.parse(text)).toBe('a "b"\n😀')
    expect(chunks.at(-1)).toMatchObject({ type: 'tool-input-available', input: 'a "b"\n😀' })
    const empty = await readAnswer([
      { type: 'tool-input-start', id: 'c', toolName: 'note', inputEncoding: 'text' },
      { type: 'tool-input-end', id: 'c' },
    ])
    expect(empty.chunks.at(-1)).toMatchObject({ delta: '""' })
  })

  test('treats an empty input as no arguments', async () => {
    const noArgs = tool({ name: 'now', inputSchema: z.object({}), execute: () => null })
    const { chunks } = await readAnswer([call('c', 'now', ' ')], { tools: new Map([['now', noArgs as AnyTool]]) })
    expect(chunks).toMatchObject([{ type: 'tool-input-available', input: {} }])
  })

  const REFUSED: readonly (readonly [string, string, string, RegExp, unknown])[] = [
    ['an input that is not JSON', 'look', '{"city":', /^the input is not JSON: /, '{"city":'],
    [
      'an input that does not match the schema',
      'look',
      '{"city":1}',
      /^the input does not match its schema: city: /,
      { city: 1 },
    ],
    ['an unknown tool', 'see', '{"a":1}', /^there is no tool see, expected one of look, note, search$/, { a: 1 }],
  ]
  for (const [name, toolName, input, errorText, partialInput] of REFUSED) {
    test(`reports ${name} to the model and does not run it`, async () => {
      const { chunks, answer } = await readAnswer([call('c', toolName, input), finish('tool-calls')])
      expect(chunks).toEqual([
        expect.objectContaining({ type: 'tool-input-start', toolCallId: 'c', toolName, executor: 'server' }),
        {
          type: 'tool-input-error',
          toolCallId: 'c',
          toolName,
          errorText: expect.stringMatching(errorText),
          partialInput,
        },
      ])
      expect(answer).toMatchObject({ calls: 1, requestedCalls: { length: 0 } })
    })
  }

  test('reports an incomplete input to the model', async () => {
    const { chunks, answer } = await readAnswer([
      { type: 'tool-input-start', id: 'c', toolName: 'look' },
      { type: 'tool-input-delta', id: 'c', delta: '{"ci' },
      finish('length'),
    ])
    expect(chunks.at(-1)).toEqual({
      type: 'tool-input-error',
      toolCallId: 'c',
      toolName: 'look',
      errorText: 'the input was cut off',
    })
    expect(answer).toMatchObject({ calls: 1, requestedCalls: { length: 0 }, finishReason: 'length' })
  })

  test('separates two calls with the same id', async () => {
    const { chunks, answer } = await readAnswer([
      { type: 'tool-input-start', id: 'c', toolName: 'look' },
      call('c', 'look', '{"city":"A"}'),
      call('c', 'look', '{"city":"B"}'),
      { type: 'tool-input-start', id: 'c', toolName: 'look' },
      { type: 'tool-input-delta', id: 'c', delta: '{"city":"C"}' },
      call('c', 'look', '{"city":"C"}'),
      finish('tool-calls'),
    ])
    const inputs = chunks.filter(({ type }) => type === 'tool-input-available')
    expect(inputs).toMatchObject([{ toolCallId: 'c' }, { toolCallId: 'c-2' }, { toolCallId: 'c-3' }])
    expect(chunks.find(({ type }) => type === 'tool-input-delta')).toMatchObject({ toolCallId: 'c-3' })
    expect(answer).toMatchObject({ calls: 3, requestedCalls: { length: 3 } })
  })

  test('replaces used, empty and long ids', async () => {
    const taken = new Set(['c', 'c-2'])
    const { chunks } = await readAnswer(
      [
        call('c', 'look', '{"city":"A"}'),
        call('', 'look', '{"city":"B"}'),
        call('', 'look', '{"city":"C"}'),
        call('x'.repeat(257), 'look', '{"city":"D"}'),
        call('y'.repeat(256), 'look', '{"city":"E"}'),
      ],
      { isTaken: id => taken.has(id) },
    )
    expect(chunks.map(chunk => (chunk as { toolCallId: string }).toolCallId)).toEqual([
      'c-3',
      'call-2-2',
      'call-2-3',
      'call-2-4',
      'y'.repeat(256),
    ])
  })

  test('adds the number of rewinds to ids of client calls, so that none is reused', async () => {
    const show = tool({ name: 'show', inputSchema: z.object({}), client: true })
    const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => null })
    const tools = new Map<string, AnyTool>([show, look].map(each => [each.name, each]))
    const ids = ['c', 'c', 'c-r1', 'c-2', 'y'.repeat(254)]
    const idsAt = async (rewinds: number) => {
      const { answer } = await readAnswer([...ids.map(id => call(id, 'show', '{}')), call('d', 'look', '{}')], {
        tools,
        rewinds,
      })
      return answer.requestedCalls.map(({ toolCallId }) => toolCallId)
    }
    expect(await idsAt(0)).toEqual(['c', 'c-2', 'c-r1-r0', 'c-2-2', 'y'.repeat(254), 'd'])
    expect(await idsAt(12)).toEqual(['c-r12', 'c-2-r12', 'c-r1-r12', 'c-2-2-r12', 'call-2-5-r12', 'd'])
  })

  test('does not turn a server call into a client call', async () => {
    const show = tool({ name: 'show', inputSchema: z.object({}), client: true })
    const { chunks, answer } = await readAnswer(
      [{ type: 'tool-input-start', id: 'c', toolName: 'other' }, call('c', 'show', '{}'), finish('tool-calls')],
      { tools: new Map([['show', show]]), rewinds: 1 },
    )
    expect(chunks).toMatchObject([
      { type: 'tool-input-start', toolCallId: 'c' },
      { type: 'tool-input-error', toolCallId: 'c' },
    ])
    expect(answer).toMatchObject({ calls: 2, requestedCalls: [{ toolCallId: 'c-r1' }] })
  })

  test('reports an input that exceeds the size limit of the log to the model', async () => {
    const chunks: Chunk[] = []
    const write = async (chunk: Chunk) => {
      if (JSON.stringify(chunk).length > 4000) throw new LogError('too-large', 'no')
      chunks.push(chunk)
    }
    const { answer } = await readAnswer(
      [
        call('a', 'look', JSON.stringify({ city: 'x'.repeat(5000) })),
        call('b', 'look', JSON.stringify({ town: 'x'.repeat(5000) })),
        call('c', 'look', `{"city":"${'x'.repeat(5000)}`),
      ],
      { write },
    )
    const errors = chunks.filter(chunk => chunk.type === 'tool-input-error')
    expect(errors.map(({ errorText }) => errorText.slice(0, 25))).toEqual([
      'the input exceeds the siz',
      'the input does not match ',
      'the input is not JSON: Un',
    ])
    for (const { partialInput } of errors) expect((partialInput as string).length).toBe(1000)
    expect(answer).toMatchObject({ calls: 3, requestedCalls: { length: 0 } })
  })

  test('reports an input that is nested too deep to the model', async () => {
    const tools = new Map<string, AnyTool>([
      ['any', tool({ name: 'any', inputSchema: z.any(), jsonSchema: {}, execute: () => 1 })],
    ])
    const nested = (depth: number) => `${'{"a":'.repeat(depth)}[]${'}'.repeat(depth)}`
    const { chunks, answer } = await readAnswer(
      [call('a', 'any', nested(511)), call('b', 'any', nested(512)), call('c', 'any', nested(100_000))],
      { tools },
    )
    const errors = chunks.filter(chunk => chunk.type === 'tool-input-error')
    expect(errors.map(({ toolCallId, errorText }) => [toolCallId, errorText])).toEqual(
      ['b', 'c'].map(id => [id, 'the input has more than 512 levels: flatten it']),
    )
    expect(answer).toMatchObject({ calls: 3, requestedCalls: [{ toolCallId: 'a' }] })
  })

  test('rethrows other errors of the log', async () => {
    const write = () => Promise.reject(new LogError('fenced', 'gone'))
    await expect(readAnswer([call('a', 'look', '{"city":"A"}')], { write })).rejects.toThrow('gone')
  })
})

describe('provider tools', () => {
  test('commits results with the answer, and streams preliminary ones', async () => {
    const { chunks, answer } = await readAnswer([
      call('c', 'search', '{"q":"mills"}', { ...ran, ...signed('1') }),
      result('c', ['half'], { preliminary: true }),
      result('c', ['whole'], { providerMetadata: { maker: { item: '2' } } }),
      finish(),
    ])
    const providerMetadata = { maker: { signature: '1', item: '2' } }
    expect(chunks).toEqual([
      {
        type: 'tool-input-available',
        toolCallId: 'c',
        toolName: 'search',
        input: { q: 'mills' },
        executor: 'provider',
        ...signed('1'),
      },
      {
        type: 'tool-output-available',
        executor: 'provider',
        toolCallId: 'c',
        output: ['half'],
        preliminary: true,
        ...signed('1'),
      },
    ])
    expect(answer.committedChunks).toEqual([
      { type: 'tool-output-available', executor: 'provider', toolCallId: 'c', output: ['whole'], providerMetadata },
    ])
    expect(answer).toMatchObject({ calls: 0, requestedCalls: { length: 0 } })
  })

  test('accepts an unknown tool of the provider', async () => {
    const { chunks } = await readAnswer([call('c', 'mcp_read', '{}', { ...ran, dynamic: true })])
    expect(chunks).toMatchObject([{ type: 'tool-input-available', executor: 'provider', dynamic: true }])
  })

  test('reports failures as truncated outcomes', async () => {
    const { answer } = await readAnswer([
      call('a', 'search', '{}', ran),
      call('b', 'search', '{}', ran),
      call('c', 'search', '{}', ran),
      result('a', 'no', { isError: true }),
      result('b', { errorCode: 'unavailable' }, { isError: true }),
      result('c', 'x'.repeat(5000), { isError: true }),
    ])
    expect(answer.committedChunks).toEqual([
      { type: 'tool-output-error', executor: 'provider', toolCallId: 'a', errorText: 'no' },
      { type: 'tool-output-error', executor: 'provider', toolCallId: 'b', errorText: '{"errorCode":"unavailable"}' },
      { type: 'tool-output-error', executor: 'provider', toolCallId: 'c', errorText: `${'x'.repeat(999)}…` },
    ])
  })

  test('accepts the result of a call in an earlier answer, and drops one without a call', async () => {
    const { answer } = await readAnswer([result('old', 1), result('none', 2)], { isTaken: id => id === 'old' })
    expect(answer.committedChunks).toEqual([
      { type: 'tool-output-available', executor: 'provider', toolCallId: 'old', output: 1 },
    ])
    expect(answer.warnings).toEqual([{ type: 'other', message: 'a result of search was dropped: it has no call' }])
  })

  test('rejects an input that is not JSON', async () => {
    const { answer, types } = await readAnswer([call('c', 'search', '{', ran), finish()])
    expect(types).toEqual(['tool-input-start', 'tool-input-error'])
    expect(answer).toMatchObject({ calls: 0, requestedCalls: { length: 0 } })
  })

  test('fails a call whose result exceeds the size limit of the log', async () => {
    const write = async (chunk: Chunk) => {
      if (JSON.stringify(chunk).length > 100_000) throw new LogError('too-large', 'no')
    }
    const { answer } = await readAnswer(
      [
        call('a', 'search', '{}', ran),
        call('b', 'search', '{}', ran),
        result('a', 'x'.repeat(90_000)),
        result('b', 'x'.repeat(200_000)),
        result('b', 'x'.repeat(200_000), { preliminary: true }),
      ],
      { write },
    )
    expect(answer.committedChunks).toMatchObject([
      { type: 'tool-output-available', executor: 'provider', toolCallId: 'a' },
      { type: 'tool-output-error', executor: 'provider', toolCallId: 'b', code: 'tool_output_too_large' },
    ])
    expect(answer.warnings).toEqual([
      { type: 'other', message: 'progress of search was dropped: it exceeds the size limit of the log' },
    ])
  })
})
