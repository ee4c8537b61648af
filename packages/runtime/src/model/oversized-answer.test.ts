import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { providerTool, tool } from '../define/tool.ts'
import { AgentHarness, chunksOf, finish, partsModel, textParts } from './model-run.fixture.ts'

const completeAnswer = [...textParts('It is warm.'), finish('stop', [10, 4])]

describe('law 6: content that is too large for the log does not end the run', () => {
  const look = tool({ name: 'look', inputSchema: z.object({ city: z.string() }), execute: ({ city }) => city.length })

  test('reports an oversized input to the model as an error', async () => {
    const large = JSON.stringify({ city: 'x'.repeat(10_000) })
    const model = partsModel(
      [
        { type: 'tool-input-start', id: 'a', toolName: 'look' },
        { type: 'tool-input-delta', id: 'a', delta: large },
        { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: large },
        { type: 'tool-call', toolCallId: 'b', toolName: 'look', input: '{"city":"Ulm"}' },
        finish('tool-calls'),
      ],
      completeAnswer,
    )
    const harness = new AgentHarness(model, { tools: [look] }, { log: { maxEntryBytes: 4096 } })
    const { result, entries } = await harness.run()
    expect(result).toMatchObject({ status: 'completed', text: 'It is warm.' })
    expect(chunksOf(entries, 'tool-input-error')).toMatchObject([{ toolCallId: 'a' }])
    expect(chunksOf(entries, 'tool-output-available')).toMatchObject([{ toolCallId: 'b', output: 3 }])
    const [called, toolResult] = model.calls[1]?.prompt.slice(1) ?? []
    // The large input is not sent back in full.
    expect(JSON.stringify(called).length).toBeLessThan(2000)
    expect(toolResult?.content).toMatchObject([
      {
        toolCallId: 'a',
        output: { type: 'error-text', value: expect.stringContaining('exceeds the size limit of the log') },
      },
      { toolCallId: 'b', output: { type: 'json', value: 3 } },
    ])
    await harness.close()
  })

  test('reports an oversized provider result as an error of its call, and drops an oversized file', async () => {
    const search = providerTool({ name: 'search', id: 'maker.search' })
    const model = partsModel([
      { type: 'tool-call', toolCallId: 'a', toolName: 'search', input: '{}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 'a', toolName: 'search', result: 'x'.repeat(300_000) },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'A'.repeat(300_000) } },
      ...completeAnswer,
    ])
    const harness = new AgentHarness(model, { tools: [search] }, { log: { maxBlobBytes: 200_000 } })
    const { result, entries } = await harness.run()
    expect(result.status).toBe('completed')
    expect(chunksOf(entries, 'tool-output-error')).toMatchObject([{ code: 'tool_output_too_large' }])
    expect(chunksOf(entries, 'step-finish')[0]?.warnings).toMatchObject([{ type: 'other' }])
    await harness.close()
  })

  test('drops oversized metadata of a part with a warning', async () => {
    const providerMetadata = { maker: { signature: 'x'.repeat(10_000) } }
    const start: LanguageModelV4StreamPart = { type: 'reasoning-start', id: 'r', providerMetadata }
    const delta: LanguageModelV4StreamPart = { type: 'reasoning-delta', id: 'r', delta: 'So.', providerMetadata }
    const model = partsModel([start, delta, ...completeAnswer])
    const harness = new AgentHarness(model, {}, { log: { maxEntryBytes: 4096 } })
    const { result, entries } = await harness.run()
    expect(result).toMatchObject({ status: 'completed', text: 'It is warm.' })
    expect(model.calls).toHaveLength(1)
    expect(result.message?.parts).toContainEqual(expect.objectContaining({ type: 'reasoning', text: 'So.' }))
    expect(chunksOf(entries, 'step-finish')[0]?.warnings).toEqual([
      { type: 'other', message: expect.stringContaining('was dropped') },
    ])
    await harness.close()
  })

  const HUGE = 'x'.repeat(3_000_000)
  const strict = tool({ name: 'strict', inputSchema: z.strictObject({ city: z.string() }), execute: () => null })
  const call = (toolName: string, input = '{}'): LanguageModelV4StreamPart => ({
    type: 'tool-call',
    toolCallId: 'a',
    toolName,
    input,
  })

  const OVERSIZED_CALLS: Record<string, LanguageModelV4StreamPart[]> = {
    'an oversized name of an unknown field': [call('strict', JSON.stringify({ city: '', [HUGE]: 1 }))],
    'an oversized tool name': [call(HUGE)],
    'an oversized tool name of a streamed call': [{ type: 'tool-input-start', id: 'a', toolName: HUGE }, call(HUGE)],
    'an oversized title': [{ type: 'tool-input-start', id: 'a', toolName: 'none', title: HUGE }, call('none')],
  }
  for (const [name, parts] of Object.entries(OVERSIZED_CALLS)) {
    test(`reports ${name} to the model, truncated`, async () => {
      const model = partsModel([...parts, finish('tool-calls')], completeAnswer)
      const harness = new AgentHarness(model, { tools: [strict] })
      const { result, entries } = await harness.run()
      expect(result).toMatchObject({ status: 'completed', text: 'It is warm.' })
      expect(chunksOf(entries, 'tool-input-error')).toMatchObject([{ toolCallId: 'a' }])
      expect(JSON.stringify(model.calls[1]?.prompt).length).toBeLessThan(5000)
      await harness.close()
    })
  }

  test('reports an oversized unknown field of an output to the model, truncated', async () => {
    const odd = textParts(JSON.stringify({ city: 'Ulm', [HUGE.slice(0, 100_000)]: 1 }))
    const model = partsModel([...odd, finish()], [...textParts('{"city":"Ulm"}'), finish()])
    const harness = new AgentHarness(model, { outputSchema: z.strictObject({ city: z.string() }) })
    expect((await harness.run()).result).toMatchObject({ status: 'completed', output: { city: 'Ulm' } })
    expect(JSON.stringify(model.calls[1]?.prompt.at(-1)).length).toBeLessThan(2000)
    await harness.close()
  })

  const huge = { providerMetadata: { maker: { huge: HUGE } } }
  const search = providerTool({ name: 'search', id: 'maker.search' })
  const OPTIONAL_CONTENT: Record<string, LanguageModelV4StreamPart[]> = {
    'oversized metadata of the finish part': [
      ...textParts('It is warm.'),
      { ...finish(), ...huge } as LanguageModelV4StreamPart,
    ],
    'metadata of the finish part that is not JSON': [
      ...textParts('It is warm.'),
      { ...finish(), providerMetadata: { maker: { big: 1n } } } as never,
    ],
    'oversized metadata of a text': [{ type: 'text-start', id: '0', ...huge }, ...completeAnswer.slice(1)],
    'metadata of a text that is not JSON': [
      { type: 'text-start', id: '0', providerMetadata: { maker: { big: 1n } } } as never,
      ...completeAnswer.slice(1),
    ],
    'oversized metadata of a provider’s result': [
      { type: 'tool-call', toolCallId: 'a', toolName: 'search', input: '{}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 'a', toolName: 'search', result: 1, ...huge },
      ...completeAnswer,
    ],
    'an oversized warning': [{ type: 'stream-start', warnings: [{ type: 'other', message: HUGE }] }, ...completeAnswer],
    'an oversized warning of another type': [
      { type: 'stream-start', warnings: [{ type: 'unsupported', feature: 'f', details: HUGE }] },
      ...completeAnswer,
    ],
    'a warning that is not JSON': [
      { type: 'stream-start', warnings: [{ type: 'other', message: 'm', big: 1n } as never] },
      ...completeAnswer,
    ],
    'too many warnings': [
      {
        type: 'stream-start',
        warnings: Array.from({ length: 2000 }, (_, n) => ({ type: 'other', message: `${n}${'x'.repeat(1500)}` })),
      },
      ...completeAnswer,
    ],
  }
  for (const [name, parts] of Object.entries(OPTIONAL_CONTENT)) {
    test(`drops ${name} and adds a warning`, async () => {
      const model = partsModel(parts)
      const harness = new AgentHarness(model, { tools: [search] })
      const { result, entries } = await harness.run()
      expect(result).toMatchObject({ status: 'completed', text: 'It is warm.' })
      expect(model.calls).toHaveLength(1)
      const [{ warnings = [] } = {}] = chunksOf(entries, 'step-finish')
      expect(warnings.length).toBeGreaterThan(0)
      expect(warnings.length).toBeLessThan(40)
      expect(JSON.stringify(entries).length).toBeLessThan(200_000)
      await harness.close()
    })
  }
})

describe('malformed stream parts', () => {
  const MALFORMED_PARTS: Record<string, unknown> = {
    null: null,
    'a text delta without text': { type: 'text-delta', id: '1' },
    'a text delta that is a number': { type: 'text-delta', id: '1', delta: 5 },
    'an input delta that is a number': { type: 'tool-input-delta', id: 'c', delta: 5 },
    'a tool call without a name': { type: 'tool-call', toolCallId: 'd', input: '{}' },
    'a tool result that is not JSON': { type: 'tool-result', toolCallId: 'c', toolName: 'look', result: 1n },
    'a finish part without a reason': { type: 'finish' },
  }
  const begun: LanguageModelV4StreamPart[] = [
    ...textParts('It is'),
    { type: 'tool-input-start', id: 'c', toolName: 'look' },
  ]
  for (const [name, part] of Object.entries(MALFORMED_PARTS)) {
    for (const output of [undefined, z.object({ city: z.string() })]) {
      test(`discards and retries an answer with ${name}${output ? ', with outputSchema' : ''}`, async () => {
        const good = [...textParts('{"city":"Ulm"}'), finish()]
        const model = partsModel([...begun, part as LanguageModelV4StreamPart, finish()], good)
        const harness = new AgentHarness(model, { ...(output && { outputSchema: output }) })
        const outcome = await harness.run()
        expect(outcome.result).toMatchObject({ status: 'completed', text: output ? '' : '{"city":"Ulm"}' })
        expect(chunksOf(outcome.entries, 'step-start')).toMatchObject([{}, { attempt: 2 }])
        expect(chunksOf(outcome.entries, 'step-discarded')).toMatchObject([{ reason: 'provider_error', attempt: 1 }])
        await harness.close()
      })
    }
  }
})
