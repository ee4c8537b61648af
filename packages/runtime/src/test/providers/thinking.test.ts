import { expect, test } from 'vitest'
import { z } from 'zod'
import { providerTool, tool } from '../../define/tool.ts'
import { AgentHarness, chunksOf } from '../../model/model-run.fixture.ts'
import { anthropicProvider, openaiProvider } from './providers.fixture.ts'
import { anthropic, rawServer } from './raw-server.fixture.ts'

const weather = tool({ name: 'weather', inputSchema: z.object({ city: z.string() }), execute: () => ({ celsius: 21 }) })
const thinking = [
  { type: 'thinking', thinking: '', signature: '' },
  [
    { type: 'thinking_delta', thinking: 'I must ' },
    { type: 'thinking_delta', thinking: 'look.' },
    { type: 'signature_delta', signature: 'c2lnbmVk' },
  ],
] as const
const redacted = [{ type: 'redacted_thinking', data: 'aGlkZGVu' }, []] as const
const call = [
  { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} },
  [
    { type: 'input_json_delta', partial_json: '{"city":' },
    { type: 'input_json_delta', partial_json: '"Ulm"}' },
  ],
] as const
const text = (words: string) => [{ type: 'text', text: '' }, [{ type: 'text_delta', text: words }]] as const

test('sends reasoning back with its signature, and hidden reasoning unchanged, in this run and the next', async () => {
  const server = await rawServer(
    { body: anthropic(thinking, redacted, text('Let me see.'), call) },
    { body: anthropic(text('It is 21.')) },
    { body: anthropic(text('As I said.')) },
  )
  const harness = new AgentHarness(anthropicProvider.model(server.url), {
    tools: [weather],
    settings: { providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } } },
  })
  const { result, view } = await harness.run('How warm is it?')
  expect(result).toMatchObject({ status: 'completed', text: 'Let me see.It is 21.' })
  expect(view.messages[1]?.parts).toContainEqual(
    expect.objectContaining({
      type: 'reasoning',
      text: 'I must look.',
      state: 'done',
      providerMetadata: { anthropic: { signature: 'c2lnbmVk' } },
    }),
  )
  await harness.run('Really?')
  expect(server.requests[0]?.body).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 1024 } })
  const reply = {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'I must look.', signature: 'c2lnbmVk' },
      { type: 'redacted_thinking', data: 'aGlkZGVu' },
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Ulm' } },
    ],
  }
  const toolResult = {
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '{"celsius":21}' }],
  }
  const userMessage = { role: 'user', content: [{ type: 'text', text: 'How warm is it?' }] }
  expect(server.requests[1]?.body).toMatchObject({ messages: [userMessage, reply, toolResult] })
  expect(server.requests[2]?.body).toMatchObject({
    messages: [
      userMessage,
      reply,
      toolResult,
      { role: 'assistant', content: [{ type: 'text', text: 'It is 21.' }] },
      { role: 'user', content: [{ type: 'text', text: 'Really?' }] },
    ],
  })
  await harness.close()
  await server.close()
})

test('commits the results of a provider search and sends them back', async () => {
  const found = {
    type: 'web_search_result',
    url: 'https://example.org',
    title: 'Mills',
    encrypted_content: 'ZW5j',
    page_age: null,
  }
  const server = await rawServer(
    {
      body: anthropic(
        [
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
          [{ type: 'input_json_delta', partial_json: '{"query":"mills"}' }],
        ],
        [{ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [found] }, []],
        text('Mills turn.'),
      ),
    },
    { body: anthropic(text('They do.')) },
  )
  const search = providerTool({ name: 'web_search', id: 'anthropic.web_search_20250305' })
  const harness = new AgentHarness(anthropicProvider.model(server.url), { tools: [search] })
  const { result, entries, view } = await harness.run('What do mills do?')
  expect(result).toMatchObject({ status: 'completed', text: 'Mills turn.' })
  expect(chunksOf(entries, 'source-url')).toMatchObject([{ url: 'https://example.org', title: 'Mills' }])
  expect(view.messages[1]?.parts).toContainEqual(
    expect.objectContaining({
      toolCallId: 'srvtoolu_1',
      executor: 'provider',
      state: 'output-available',
      input: { query: 'mills' },
      output: [expect.objectContaining({ url: 'https://example.org', encryptedContent: 'ZW5j' })],
    }),
  )
  await harness.run('Really?')
  expect(server.requests[1]?.body).toMatchObject({
    messages: [
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'mills' } },
          { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [found] },
          { type: 'text', text: 'Mills turn.' },
        ],
      },
      { role: 'user' },
    ],
  })
  await harness.close()
  await server.close()
})

test('logs a warning about an unsupported setting', async () => {
  const server = await rawServer({ body: anthropic(text('So.')) })
  const harness = new AgentHarness(anthropicProvider.model(server.url), { settings: { seed: 3, frequencyPenalty: 1 } })
  const { entries } = await harness.run()
  expect(chunksOf(entries, 'step-finish')[0]?.warnings).toMatchObject(
    ['frequencyPenalty', 'seed'].map(feature => ({ type: 'unsupported', feature })),
  )
  await harness.close()
  await server.close()
})

test('reports malformed arguments of a call to the model, and the run continues', async () => {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'x', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const broken = { index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city": Ulm' } }
  const end = 'data: [DONE]\n\n'
  const server = await rawServer(
    { body: chunk({ role: 'assistant', tool_calls: [broken] }) + chunk({}, 'tool_calls') + end },
    { body: chunk({ content: 'I could not.' }) + chunk({}, 'stop') + end },
  )
  const harness = new AgentHarness(openaiProvider.model(server.url), { tools: [weather] })
  const { result, entries } = await harness.run()
  expect(result).toMatchObject({ status: 'completed', text: 'I could not.' })
  expect(chunksOf(entries, 'tool-input-error')).toMatchObject([{ toolCallId: 'call_1', partialInput: '{"city": Ulm' }])
  const { messages } = (server.requests[1]?.body ?? {}) as { messages: { role: string }[] }
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  const invalidCall = JSON.stringify({ input: '{"city": Ulm' })
  expect(messages[1]).toMatchObject({ tool_calls: [{ id: 'call_1', function: { arguments: invalidCall } }] })
  await harness.close()
  await server.close()
})
