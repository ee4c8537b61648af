import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider'
import { LogError } from '@millrace/log'
import type { Chunk } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { readAnswer, signed } from './model-answer.fixture.ts'
import { finish, textParts } from './model-run.fixture.ts'

describe('text and reasoning', () => {
  test('gives each part a unique id that is stable across attempts', async () => {
    const parts = [
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'hm' },
      { type: 'reasoning-end', id: '0' },
      ...textParts('a'),
      ...textParts('b'),
    ] satisfies LanguageModelV4StreamPart[]
    const { chunks, answer } = await readAnswer(parts)
    expect(chunks).toEqual([
      { type: 'reasoning-start', id: '2.1' },
      { type: 'reasoning-delta', id: '2.1', delta: 'hm' },
      { type: 'reasoning-end', id: '2.1' },
      { type: 'text-start', id: '2.2' },
      { type: 'text-delta', id: '2.2', delta: 'a' },
      { type: 'text-end', id: '2.2' },
      { type: 'text-start', id: '2.3' },
      { type: 'text-delta', id: '2.3', delta: 'b' },
      { type: 'text-end', id: '2.3' },
    ])
    expect(answer.text).toBe('ab')
    expect((await readAnswer(parts)).chunks).toEqual(chunks)
  })

  test('keeps provider metadata of every kind of part', async () => {
    const { chunks } = await readAnswer([
      { type: 'reasoning-start', id: 'r', ...signed('1') },
      { type: 'reasoning-delta', id: 'r', delta: '', ...signed('2') },
      { type: 'reasoning-end', id: 'r', ...signed('3') },
      { type: 'text-start', id: 't', ...signed('4') },
      { type: 'text-end', id: 't', ...signed('5') },
    ])
    expect(chunks.map(chunk => (chunk as { providerMetadata?: unknown }).providerMetadata)).toEqual(
      ['1', '2', '3', '4', '5'].map(signature => signed(signature).providerMetadata),
    )
  })

  test('supports interleaved parts', async () => {
    const { chunks } = await readAnswer([
      { type: 'text-start', id: 'a' },
      { type: 'text-start', id: 'b' },
      { type: 'text-delta', id: 'a', delta: '1' },
      { type: 'text-delta', id: 'b', delta: '2' },
    ])
    expect(chunks.slice(2)).toMatchObject([
      { id: '2.1', delta: '1' },
      { id: '2.2', delta: '2' },
    ])
  })

  test('opens a part for a delta without a start, and ignores an end without one', async () => {
    const { chunks } = await readAnswer([
      { type: 'text-end', id: 'x' },
      { type: 'text-delta', id: 'a', delta: '1' },
      { type: 'text-start', id: 'a' },
      { type: 'text-delta', id: 'a', delta: '2' },
    ])
    expect(chunks).toEqual([
      { type: 'text-delta', id: '2.1', delta: '1' },
      { type: 'text-end', id: '2.1' },
      { type: 'text-start', id: '2.2' },
      { type: 'text-delta', id: '2.2', delta: '2' },
    ])
  })

  test('ends open parts at the end of the answer', async () => {
    const { types } = await readAnswer([
      { type: 'text-delta', id: 'a', delta: '1' },
      { type: 'reasoning-start', id: 'a' },
      finish(),
    ])
    expect(types).toEqual(['text-delta', 'reasoning-start', 'text-end', 'reasoning-end'])
  })

  test('passes the text of a JSON document to the sink, but not reasoning', async () => {
    const pushed: string[] = []
    const sink = {
      push: (delta: string) => {
        pushed.push(delta)
        return [{ type: 'data-x', data: delta } satisfies Chunk]
      },
    }
    const { types, answer } = await readAnswer(
      [{ type: 'reasoning-delta', id: 'r', delta: 'hm' }, ...textParts('{}'), finish()],
      { sink },
    )
    expect(pushed).toEqual(['{}'])
    expect(types).toEqual(['reasoning-delta', 'data-x', 'reasoning-end'])
    expect(answer.text).toBe('{}')
  })
})

describe('other content', () => {
  test('writes each source once, including citations', async () => {
    const url = { type: 'source', sourceType: 'url', id: 's', url: 'https://example.org', title: 'Mills' } as const
    const document = { type: 'source', sourceType: 'document', id: 'd', mediaType: 'text/plain', title: 'T' } as const
    const { chunks } = await readAnswer([
      { ...url, ...signed('1') },
      { ...document, filename: 'a.txt' },
      { type: 'text-delta', id: 't', delta: 'so' },
      { type: 'text-end', id: 't', citations: [{ source: url }, { source: { ...url, id: 'e' }, startIndex: 0 }] },
    ])
    expect(chunks).toEqual([
      { type: 'source-url', sourceId: '2.1', url: 'https://example.org', title: 'Mills', ...signed('1') },
      { type: 'source-document', sourceId: '2.2', mediaType: 'text/plain', title: 'T', filename: 'a.txt' },
      { type: 'text-delta', id: '2.3', delta: 'so' },
      { type: 'source-url', sourceId: '2.4', url: 'https://example.org', title: 'Mills' },
      { type: 'text-end', id: '2.3' },
    ])
  })

  test('writes files by bytes, base64 or URL, including those of reasoning', async () => {
    const mediaType = 'image/png'
    const { chunks } = await readAnswer([
      { type: 'file', mediaType, data: { type: 'data', data: new Uint8Array([1, 2, 3]) } },
      { type: 'file', mediaType, data: { type: 'data', data: 'AQID' }, ...signed('1') },
      { type: 'file', mediaType, data: { type: 'url', url: new URL('https://example.org/a.png') } },
      { type: 'reasoning-file', mediaType, data: { type: 'url', url: new URL('gs://b/a'), originalUrl: 'gs://b/A' } },
    ])
    expect(chunks).toEqual([
      { type: 'file', mediaType, url: 'data:image/png;base64,AQID' },
      { type: 'file', mediaType, url: 'data:image/png;base64,AQID', ...signed('1') },
      { type: 'file', mediaType, url: 'https://example.org/a.png' },
      { type: 'file', mediaType, url: 'gs://b/A' },
    ])
  })

  test('keeps provider-specific content', async () => {
    const { chunks } = await readAnswer([{ type: 'custom', kind: 'maker.compaction', ...signed('1') }])
    expect(chunks).toEqual([
      { type: 'data-provider-content', id: '2.1', data: { kind: 'maker.compaction', ...signed('1') } },
    ])
  })

  test('uses the usage of the start until the finish part has more', async () => {
    const usage = { input_tokens: 12, cache_read_input_tokens: 8, cache_creation_input_tokens: 3, output_tokens: 1 }
    const start = {
      type: 'custom',
      kind: 'anthropic.message_start',
      providerMetadata: { anthropic: { usage } },
    } as const
    const cut = await readAnswer([start, ...textParts('half')])
    expect(cut.answer.usage).toEqual({
      inputTokens: 23,
      outputTokens: 1,
      totalTokens: 24,
      cachedTokens: 8,
      cacheWriteTokens: 3,
    })
    expect(cut.types).toEqual(['text-start', 'text-delta', 'text-end'])
    expect((await readAnswer([start, finish('interrupted')])).answer.usage).toEqual(cut.answer.usage)
    expect((await readAnswer([start, finish('stop', [23, 9])])).answer.usage).toMatchObject({ outputTokens: 9 })
    const bare = { type: 'custom', kind: 'anthropic.message_start' } as const
    expect((await readAnswer([bare])).answer.usage).toBeUndefined()
  })

  test('drops metadata that the log rejects, with a warning', async () => {
    const write = () => Promise.reject(new LogError('too-large', 'no'))
    const { answer } = await readAnswer(
      [
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AQID' } },
        { type: 'source', sourceType: 'url', id: 's', url: 'https://example.org' },
        { type: 'custom', kind: 'maker.thing' },
        { type: 'response-metadata', id: 'x' },
        finish(),
      ],
      { write },
    )
    expect(answer.warnings.map(warning => (warning as { message: string }).message)).toEqual([
      'a file was dropped: it exceeds the size limit of the log',
      'a source was dropped: it exceeds the size limit of the log',
      'content of kind maker.thing was dropped: it exceeds the size limit of the log',
      'the response metadata was dropped: it exceeds the size limit of the log',
    ])
    expect(answer.isComplete).toBe(true)
  })

  test('writes the response metadata of the provider', async () => {
    const { chunks } = await readAnswer([
      { type: 'response-metadata' },
      { type: 'response-metadata', id: 'x', modelId: 'm', timestamp: new Date(0) },
    ])
    expect(chunks).toEqual([{ type: 'message-metadata', metadata: { response: { id: 'x', modelId: 'm' } } }])
  })

  test('ignores raw parts, pings and unknown parts', async () => {
    const { chunks, answer } = await readAnswer([
      { type: 'raw', rawValue: {} },
      { type: 'ping' },
      { type: 'of-tomorrow' } as never,
      finish(),
    ])
    expect(chunks).toEqual([])
    expect(answer.isComplete).toBe(true)
  })

  test('collects warnings and unsupported features', async () => {
    const warning = { type: 'unsupported', feature: 'seed' } as const
    const { answer } = await readAnswer([
      { type: 'stream-start', warnings: [warning] },
      { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'c' },
    ])
    expect(answer.warnings).toEqual([
      warning,
      { type: 'unsupported', feature: 'approval of calls that the provider runs' },
    ])
  })
})

describe('the finish part', () => {
  test('reports usage, including cache reads and writes', async () => {
    const usage: LanguageModelV4Usage = {
      inputTokens: { total: 100, noCache: 30, cacheRead: 60, cacheWrite: 10 },
      outputTokens: { total: 20, text: 15, reasoning: 5 },
    }
    const { answer } = await readAnswer([
      { type: 'finish', usage, finishReason: { unified: 'stop', raw: 'end_turn' }, ...signed('1') },
    ])
    expect(answer.usage).toEqual({
      inputTokens: 100,
      outputTokens: 20,
      totalTokens: 120,
      reasoningTokens: 5,
      cachedTokens: 60,
      cacheWriteTokens: 10,
    })
    expect(answer.providerMetadata).toEqual(signed('1').providerMetadata)
  })

  test('omits missing or invalid usage', async () => {
    expect((await readAnswer([finish('stop', [undefined, 3])])).answer.usage).toEqual({ outputTokens: 3 })
    expect((await readAnswer([finish('stop', [Number.NaN, -1])])).answer.usage).toBeUndefined()
    expect((await readAnswer([finish()])).answer.usage).toBeUndefined()
  })

  test('converts all finish reasons', async () => {
    for (const reason of ['stop', 'length', 'content-filter', 'tool-calls', 'other'] as const) {
      expect((await readAnswer([finish(reason)])).answer.finishReason).toBe(reason)
    }
    expect((await readAnswer([finish('of-tomorrow' as never)])).answer.finishReason).toBe('other')
  })

  test('law 7: does not finish an interrupted answer, and keeps its usage', async () => {
    for (const [reason, code] of [
      ['interrupted', 'provider_stream_cut'],
      ['error', 'provider_error'],
    ] as const) {
      const { answer } = await readAnswer([...textParts('half'), finish(reason, [5, 1])])
      expect(answer.isComplete).toBe(false)
      expect(answer.failure).toMatchObject({ code, retryable: true })
      expect(answer.usage).toMatchObject({ inputTokens: 5 })
    }
    expect((await readAnswer(textParts('half'))).answer).toMatchObject({ isComplete: false, failure: undefined })
  })

  test('ignores content after an error, except for usage', async () => {
    const error = { type: 'overloaded_error' }
    const { answer, types } = await readAnswer([
      { type: 'error', error },
      { type: 'error', error: 'another' },
      ...textParts('more'),
      finish('error', [7, 2]),
    ])
    expect(types).toEqual([])
    expect(answer.failure).toBe(error)
    expect(answer.usage).toMatchObject({ inputTokens: 7, outputTokens: 2 })
    expect((await readAnswer([{ type: 'error', error: undefined }])).answer.failure).toMatchObject({
      code: 'provider_error',
    })
  })
})
