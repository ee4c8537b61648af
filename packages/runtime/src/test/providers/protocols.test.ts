import type { FixtureResponse } from '@copilotkit/aimock'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../../define/tool.ts'
import { AgentHarness, chunksOf, type TestAgentOptions } from '../../model/model-run.fixture.ts'
import { mockServer } from './mock-server.fixture.ts'
import { PROVIDERS } from './providers.fixture.ts'

const seen: string[] = []
const weather = tool({
  name: 'weather',
  description: 'The weather in a city',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => {
    seen.push(city)
    return { city, celsius: city.length * 7 }
  },
})
/** Token usage with the field names of both protocols. */
const usage = { prompt_tokens: 20, completion_tokens: 5, input_tokens: 20, output_tokens: 5 }
const asks = (...cities: string[]): FixtureResponse => ({
  content: 'Let me see. ',
  toolCalls: cities.map(city => ({ name: 'weather', arguments: JSON.stringify({ city }) })),
})

describe.each(PROVIDERS)('$name', ({ model }) => {
  /** Runs against a server with these answers in order. */
  async function against(answers: readonly FixtureResponse[], trial: TestAgentOptions = {}) {
    const server = await mockServer(...answers)
    const harness = new AgentHarness(model(server.url), trial, { backoff: { firstMs: 1, longestMs: 1 } })
    const outcome = await harness.run('How warm is it?')
    const { requestBodies } = server
    await harness.close()
    await server.close()
    return { ...outcome, requestBodies }
  }

  test('streams text, and counts its usage', async () => {
    const { result, entries, requestBodies } = await against([{ content: 'It is warm in Ulm.', usage }], {
      instructions: 'Be brief.',
    })
    expect(result).toMatchObject({ status: 'completed', text: 'It is warm in Ulm.' })
    expect(result.usage).toMatchObject({ inputTokens: 20, outputTokens: 5 })
    expect(result.message).toMatchObject({ finishReason: 'stop', metadata: { response: { id: expect.any(String) } } })
    expect(entries.find(({ chunk }) => chunk.type === 'text-delta')?.origin).toHaveProperty('model')
    expect(requestBodies[0]?.messages?.map(({ role }) => role)).toEqual(['system', 'user'])
  })

  test('runs a tool call, and sends its output to the model', async () => {
    seen.length = 0
    const { result, entries, requestBodies } = await against([asks('Ulm'), { content: 'It is 21.' }], {
      tools: [weather],
    })
    expect(result).toMatchObject({ status: 'completed', text: 'Let me see. It is 21.' })
    expect(seen).toEqual(['Ulm'])
    expect(
      chunksOf(entries, 'tool-input-delta')
        .map(({ delta }) => delta)
        .join(''),
    ).toBe('{"city":"Ulm"}')
    expect(chunksOf(entries, 'step-finish').map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop'])
    expect(requestBodies[1]?.messages?.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(JSON.stringify(requestBodies[1]?.messages?.at(-1))).toContain('21')
  })

  test('runs parallel tool calls, and sends each output', async () => {
    seen.length = 0
    const cities = ['Ulm', 'Bonn', 'Aachen']
    const { result, view, requestBodies } = await against([asks(...cities), { content: 'So.' }], { tools: [weather] })
    expect(result.status).toBe('completed')
    expect([...seen].sort()).toEqual([...cities].sort())
    const calls = view.messages[1]?.parts.flatMap(part => ('toolCallId' in part ? part : [])) ?? []
    expect(new Set(calls.map(({ toolCallId }) => toolCallId)).size).toBe(3)
    expect(calls.map(({ output }) => output)).toEqual(cities.map(city => ({ city, celsius: city.length * 7 })))
    expect(requestBodies[1]?.messages?.filter(({ role }) => role === 'tool')).toHaveLength(3)
  })

  test('shows the reasoning of each step in a part of its own', async () => {
    const { result, view } = await against(
      [
        { reasoning: 'I must look.', toolCalls: [{ name: 'weather', arguments: '{"city":"Ulm"}' }] },
        { reasoning: 'I know.', content: 'It is 21.' },
      ],
      { tools: [weather] },
    )
    expect(result).toMatchObject({ status: 'completed', text: 'It is 21.' })
    expect(
      view.messages[1]?.parts.flatMap(part => (part.type === 'reasoning' && 'text' in part ? part.text : [])),
    ).toEqual(['I must look.', 'I know.'])
  })

  test('streams an output with a schema by field', async () => {
    const output = z.object({ city: z.string(), celsius: z.number() })
    const { result, entries, view } = await against([{ content: '{"city":"Ulm","celsius":21}' }], {
      outputSchema: output,
    })
    expect(result).toMatchObject({ status: 'completed', output: { city: 'Ulm', celsius: 21 } })
    expect(chunksOf(entries, 'structured-data').length).toBeGreaterThan(1)
    expect(view.structured).toMatchObject([{ status: 'done', data: { city: 'Ulm', celsius: 21 } }])
  })

  test('requests an invalid output again', async () => {
    const output = z.object({ celsius: z.number() })
    const { result, entries } = await against(
      [
        { content: '{"celsius":"warm"}', usage },
        { content: '{"celsius":21}', usage },
      ],
      {
        outputSchema: output,
      },
    )
    expect(result).toMatchObject({ status: 'completed', output: { celsius: 21 } })
    expect(chunksOf(entries, 'step-discarded')).toMatchObject([
      { reason: 'output_invalid', usage: { inputTokens: 20, outputTokens: 5 } },
    ])
    expect(result.usage).toMatchObject({ inputTokens: 40, outputTokens: 10 })
  })

  test.each([
    [401, 'provider_unauthorized'],
    [400, 'provider_invalid_request'],
  ])('fails the run for status %i with the code %s', async (status, code) => {
    const { result, requestBodies } = await against([{ error: { message: 'sk-secret', type: 'x' }, status }])
    expect(result).toMatchObject({ status: 'failed', error: { code, retryable: false } })
    expect(requestBodies).toHaveLength(1)
  })

  test.each([
    [429, 'rate_limit_error'],
    [529, 'overloaded_error'],
  ])('retries after status %i, %s', async (status, type) => {
    const { result, requestBodies } = await against([
      { error: { message: 'later', type }, status },
      { content: 'It is warm.' },
    ])
    expect(result).toMatchObject({ status: 'completed', text: 'It is warm.' })
    expect(requestBodies).toHaveLength(2)
  })

  test('discards and retries an answer that is cut off after some chunks', async () => {
    const server = await mockServer({ content: 'It is warm in Ulm.' })
    // With a delay between tokens, so that text is sent before the connection is cut.
    const half = { chunkSize: 4, truncateAfterChunks: 5, latency: 5 }
    server.mock.prependFixture({ match: { sequenceIndex: 0 }, response: { content: 'It is warm in Ulm.' }, ...half })
    const harness = new AgentHarness(model(server.url))
    const { result, entries } = await harness.run('How warm is it?')
    expect(result).toMatchObject({ status: 'completed', text: 'It is warm in Ulm.' })
    expect(chunksOf(entries, 'step-discarded')).toMatchObject([{ reason: 'provider_stream_cut', attempt: 1 }])
    expect(chunksOf(entries, 'text-delta').length).toBeGreaterThan(0)
    await harness.close()
    await server.close()
  })
})
