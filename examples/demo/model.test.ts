import { memoryStore } from 'millrace'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { mockServer } from '../../packages/runtime/src/test/providers/mock-server.fixture.ts'
import { anthropicWire, openaiWire, rawServer } from '../../packages/runtime/src/test/providers/raw-server.fixture.ts'
import { modelsOf } from './model.ts'

const KEY = 'sk-key-of-a-test'
const NAMES = ['OPENAI', 'ANTHROPIC'].flatMap(prefix => ['API_KEY', 'BASE_URL', 'MODEL'].map(one => `${prefix}_${one}`))

beforeEach(() => {
  for (const name of NAMES) vi.stubEnv(name, undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.resetModules()
})

describe('model selection', () => {
  test.each([
    [{}, 'a script, offline'],
    [{ OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '' }, 'a script, offline'],
    [{ OPENAI_BASE_URL: 'http://127.0.0.1:1/v1', ANTHROPIC_MODEL: 'm' }, 'a script, offline'],
    [{ OPENAI_API_KEY: KEY }, 'gpt-5.6-luna at api.openai.com, by OPENAI_API_KEY'],
    [{ ANTHROPIC_API_KEY: KEY }, 'claude-haiku-5-5 at api.anthropic.com, by ANTHROPIC_API_KEY'],
    [{ OPENAI_API_KEY: '', ANTHROPIC_API_KEY: KEY }, 'claude-haiku-5-5 at api.anthropic.com, by ANTHROPIC_API_KEY'],
    [
      { OPENAI_API_KEY: KEY, ANTHROPIC_API_KEY: KEY },
      'gpt-5.6-luna at api.openai.com, by OPENAI_API_KEY, and not by ANTHROPIC_API_KEY',
    ],
    [
      { OPENAI_API_KEY: KEY, OPENAI_MODEL: '', OPENAI_BASE_URL: '' },
      'gpt-5.6-luna at api.openai.com, by OPENAI_API_KEY',
    ],
    [
      { OPENAI_API_KEY: KEY, OPENAI_MODEL: 'qwen', OPENAI_BASE_URL: `http://me:${KEY}@127.0.0.1:11434/v1?key=${KEY}` },
      'qwen at 127.0.0.1:11434, by OPENAI_API_KEY',
    ],
  ])('%j', (env, name) => {
    expect(modelsOf(env).modelName).toBe(name)
  })

  test.each(['nowhere', 'file:///etc', `nowhere ${KEY}`])('rejects an invalid base URL: %s', url => {
    const wrong = () => modelsOf({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: url })
    expect(wrong).toThrow('Expected ANTHROPIC_BASE_URL to be an http or https URL. Set it to one such as')
    expect(wrong).not.toThrow(KEY)
  })
})

/** A runtime of the demo with this environment. */
async function demoBy(env: Readonly<Record<string, string>>) {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  vi.resetModules()
  // Agents choose their model on import, so they are imported again.
  const { createRuntime } = await import('millrace')
  const { agents, workflows } = await import('./agents.ts')
  const logger = { warn: () => {}, error: console.error }
  const runtime = createRuntime({ store: memoryStore(), agents, workflows, backoff: { firstMs: 1 }, logger })
  onTestFinished(() => runtime.close())
  return runtime
}

type Answer = typeof mockServer extends (...answers: readonly (infer A)[]) => unknown ? A : never

describe.each(['OPENAI', 'ANTHROPIC'])('%s', prefix => {
  /** The demo with a mock server that gives these answers in order. */
  async function against(...answers: readonly Answer[]) {
    const server = await mockServer(...answers)
    onTestFinished(server.close)
    const env = { [`${prefix}_API_KEY`]: KEY, [`${prefix}_BASE_URL`]: server.url, [`${prefix}_MODEL`]: 'some-model' }
    return { runtime: await demoBy(env), server }
  }

  test('assistant calls its tool and answers', async () => {
    const input = { city: 'Ulm', days: 1, unit: 'celsius' }
    const { runtime, server } = await against(
      { reasoning: 'I must look.', toolCalls: [{ name: 'get_weather', arguments: JSON.stringify(input) }] },
      { content: '## Ulm\n\nIt is **9 degrees**.' },
    )
    vi.stubEnv('DEMO_PACE', '0')
    const run = await runtime.start({ agent: 'assistant', input: 'How is it in Ulm?' })
    const { status, message } = await run.result()
    expect(status).toBe('completed')
    const parts = message?.parts.filter(({ type }) => type !== 'step-start')
    expect(parts).toMatchObject([
      { type: 'reasoning', text: 'I must look.' },
      { type: 'tool', state: 'output-available', input, output: { city: 'Ulm', days: [{ degrees: 9 }] } },
      { type: 'text', text: '## Ulm\n\nIt is **9 degrees**.' },
    ])
    expect(server.requestBodies[0]).toMatchObject({ model: 'some-model' })
    expect(server.requestBodies[0]?.messages?.[0]).toMatchObject({
      role: 'system',
      content: expect.stringContaining('questions about the weather'),
    })
  })

  test('email-draft returns a structured email', async () => {
    const email = { subject: 'Come!', body: 'Dear Ann', bullets: ['At the mill'] }
    const { runtime, server } = await against({ content: JSON.stringify(email) })
    const run = await runtime.start({ workflow: 'email-draft', input: 'Invite Ann.' })
    const { pendings } = await run.result()
    await runtime.answer(run.sessionId, { kind: 'interrupt', id: pendings[0]?.id ?? '', response: 'warm' })
    expect(await run.result()).toMatchObject({ status: 'completed', output: email })
    // OpenAI rejects a strict schema with a maximum length.
    const [, strict] = /"strict":(\w+)/.exec(JSON.stringify(server.requestBodies[0])) ?? []
    expect(strict).toBe(prefix === 'OPENAI' ? 'false' : undefined)
  })

  test('flaky fails its first attempt with a provider too', async () => {
    const { runtime, server } = await against({ content: 'Hello there, you who ask.' }, { content: 'Hello again.' })
    vi.stubEnv('DEMO_PACE', '0')
    const run = await runtime.start({ agent: 'flaky', input: 'Hello?' })
    const discards: unknown[] = []
    for await (const { chunk } of run.stream()) if (chunk.type === 'step-discarded') discards.push(chunk)
    expect(discards).toMatchObject([{ reason: 'provider_overloaded', attempt: 1 }])
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Hello again.' })
    expect(server.requestBodies).toHaveLength(2)
  })
})

test.each([
  ['OPENAI', openaiWire, 'authorization', `Bearer ${KEY}`],
  ['ANTHROPIC', anthropicWire, 'x-api-key', KEY],
] as const)('sends the key of %s to its server and does not log it', async (prefix, wire, header, value) => {
  const server = await rawServer({ body: wire.text(['Hello', ' there.']) })
  onTestFinished(server.close)
  const runtime = await demoBy({ [`${prefix}_API_KEY`]: KEY, [`${prefix}_BASE_URL`]: server.url })
  const run = await runtime.start({ agent: 'echo', input: 'Hello there.' })
  const entries: unknown[] = []
  for await (const entry of run.stream()) entries.push(entry)
  expect(await run.result()).toMatchObject({ status: 'completed', text: 'Hello there.' })
  expect(server.requests[0]?.headers[header]).toBe(value)
  expect(JSON.stringify(entries)).not.toContain(KEY)
})

test.each([
  ['gpt-5.6-luna', 'assistant', 'none'],
  ['gpt-5.6-luna', 'echo', undefined],
  ['some-model', 'assistant', undefined],
])('reasoning effort of %s for %s: %s', async (model, agent, effort) => {
  const server = await mockServer({ content: 'So.' })
  onTestFinished(server.close)
  const runtime = await demoBy({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: server.url, OPENAI_MODEL: model })
  await (await runtime.start({ agent, input: 'Hello?' })).result()
  expect((server.requestBodies[0] as { reasoning_effort?: string }).reasoning_effort).toBe(effort)
})

test('requests reasoning from Anthropic only for the assistant', async () => {
  const server = await rawServer({ body: anthropicWire.text(['So.']) })
  onTestFinished(server.close)
  const runtime = await demoBy({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: server.url })
  for (const agent of ['assistant', 'echo']) await (await runtime.start({ agent, input: 'Hello?' })).result()
  expect(server.requests.map(({ body }) => body['thinking'])).toEqual([
    { type: 'adaptive', display: 'summarized' },
    undefined,
  ])
})
