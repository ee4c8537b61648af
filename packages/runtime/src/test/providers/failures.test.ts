import { describe, expect, test } from 'vitest'
import { multiplied } from '../../../../../scripts/faults/campaign.ts'
import { AgentHarness, chunksOf } from '../../model/model-run.fixture.ts'
import { PROVIDERS } from './providers.fixture.ts'
import { type Reply, rawServer } from './raw-server.fixture.ts'

const WORDS = ['It ', 'is ', 'warm ', 'in ', 'Ulm.']
const TEXT = WORDS.join('')
const PROMPTLY = { backoff: { firstMs: 1, longestMs: 1 } }

describe.each(PROVIDERS)('$name', ({ model, wire }) => {
  /** Runs against a server with these replies. */
  async function against(replies: readonly Reply[], maxRetries = 3) {
    const server = await rawServer(...replies)
    const harness = new AgentHarness(model(server.url), { maxRetries }, PROMPTLY)
    const outcome = await harness.run('How warm is it?')
    await harness.close()
    await server.close()
    const { entries } = outcome
    const starts = chunksOf(entries, 'step-start').map(({ attempt = 1 }) => attempt)
    const discards = chunksOf(entries, 'step-discarded').map(({ reason }) => reason)
    expect(JSON.stringify(entries)).not.toMatch(/sk-|127\.0\.0\.1/)
    return { ...outcome, starts, discards, requests: server.requests }
  }

  const whole: Reply = { body: wire.text(WORDS) }

  test('counts the usage of an answer', async () => {
    const { result, starts, discards, requests } = await against([whole])
    expect(result).toMatchObject({ status: 'completed', text: TEXT })
    expect(result.usage).toMatchObject({ inputTokens: 20, cachedTokens: 8, outputTokens: 5, totalTokens: 25 })
    expect({ starts, discards, calls: requests.length }).toEqual({ starts: [1], discards: [], calls: 1 })
  })

  test.each([
    [401, 'authentication_error', 'provider_unauthorized'],
    [400, 'invalid_request_error', 'provider_invalid_request'],
    [404, 'not_found_error', 'provider_model_not_found'],
    [413, 'request_too_large', 'provider_context_exceeded'],
  ])('fails the run without a retry for status %i, %s', async (status, type, code) => {
    const { result, requests } = await against([wire.error(status, type), whole])
    expect(result).toMatchObject({ status: 'failed', text: '', error: { code, retryable: false } })
    expect(requests).toHaveLength(1)
  })

  test.each([
    [429, 'rate_limit_error', { 'retry-after': '30' }],
    [500, 'api_error', {}],
    [503, 'overloaded', {}],
    [529, 'overloaded_error', {}],
  ])('retries status %i, %s', async (status, type, headers) => {
    const { result, starts, discards, requests } = await against([{ ...wire.error(status, type), headers }, whole])
    expect(result).toMatchObject({ status: 'completed', text: TEXT })
    expect({ starts, discards, calls: requests.length }).toEqual({ starts: [2], discards: [], calls: 2 })
  })

  test('fails the run after all retries', async () => {
    const { result, requests } = await against([wire.error(529, 'overloaded_error')], 2)
    expect(result).toMatchObject({ status: 'failed', error: { code: 'provider_overloaded', retryable: true } })
    expect(requests).toHaveLength(3)
  })

  test('retries an overload at the start of a stream, with nothing to discard', async () => {
    const { result, entries } = await against([{ body: wire.broken([], 'overloaded_error') }, whole])
    expect(result).toMatchObject({ status: 'completed', text: TEXT })
    expect(
      chunksOf(entries, 'text-delta')
        .map(({ delta }) => delta)
        .join(''),
    ).toBe(TEXT)
  })

  test('discards and retries an overload in the middle of a stream', async () => {
    const { result, starts, discards, view } = await against([
      { body: wire.broken(WORDS.slice(0, 3), 'overloaded_error') },
      whole,
    ])
    expect(result).toMatchObject({ status: 'completed', text: TEXT })
    // One of the two reports its input usage at the start, which counts in any case.
    expect(view.runs[0]?.discarded).toEqual(wire.startUsage)
    expect(result.usage.inputTokens).toBe(20 + (wire.startUsage.inputTokens ?? 0))
    expect({ starts, discards }).toEqual({ starts: [1, 2], discards: ['provider_overloaded'] })
  })

  test('treats a stream that ends early as cut off', async () => {
    const { body } = whole
    const half = body.slice(0, body.indexOf('in ')).replace(/[^\n]*$/, '')
    const { result, starts, discards } = await against([{ body: half }, whole])
    expect(result).toMatchObject({ status: 'completed', text: TEXT })
    expect({ starts, discards }).toEqual({ starts: [1, 2], discards: ['provider_stream_cut'] })
  })

  test('fails the run as retryable if the server cannot be reached', async () => {
    const server = await rawServer(whole)
    await server.close()
    const harness = new AgentHarness(model(server.url), { maxRetries: 1 }, PROMPTLY)
    const { result } = await harness.run()
    expect(result).toMatchObject({ status: 'failed', error: { code: 'provider_unreachable', retryable: true } })
    await harness.close()
  })

  test("logs neither the key of a failed call nor the provider's text", async () => {
    const server = await rawServer(wire.error(400, 'invalid_request_error'))
    const harness = new AgentHarness(model(server.url), {}, PROMPTLY)
    const { entries, result } = await harness.run()
    expect(`${JSON.stringify(entries)}${JSON.stringify(result)}`).not.toMatch(/sk-/)
    const causes = harness.logged.map(({ fields }) => fields['cause'])
    expect(causes).toContainEqual(expect.objectContaining({ message: expect.stringContaining('sk-secret') }))
    await harness.close()
    await server.close()
  })

  test('law 7: a connection cut at any byte discards the draft and never duplicates text', async () => {
    const bytes = Buffer.byteLength(whole.body)
    const step = Math.ceil(bytes / multiplied(24))
    const reasons = new Set<string>()
    for (let cutAt = 0; cutAt < bytes; cutAt += step) {
      const { result, starts, discards, entries } = await against([{ ...whole, cutAt }, whole])
      expect(result, `cut at ${cutAt} of ${bytes}`).toMatchObject({ status: 'completed', text: TEXT })
      expect(discards, `cut at ${cutAt}`).toHaveLength(starts.length - 1)
      for (const reason of discards) reasons.add(reason)
      // Readers see a prefix of the answer until it is discarded.
      let shown = ''
      for (const { chunk } of entries) {
        if (chunk.type === 'step-discarded') shown = ''
        if (chunk.type === 'text-delta') shown += chunk.delta
        expect(TEXT.startsWith(shown), `cut at ${cutAt}: ${shown}`).toBe(true)
      }
      expect(shown).toBe(TEXT)
    }
    expect([...reasons]).toEqual(['provider_stream_cut'])
  })
})
