import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Message, Part } from '@millrace/protocol'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from '../define/tool.ts'
import { AgentHarness, finish, partsModel, streamOf, textParts } from './model-run.fixture.ts'
import { problemsOf } from './prompt.fixture.ts'
import { promptOf } from './prompt.ts'
import { scriptedModel } from './scripted-model.ts'

const message = (role: Message['role'], ...parts: object[]): Message => ({
  id: 'm',
  role,
  status: 'sent',
  at: 1,
  createdAt: 0,
  parts: parts.map((part, i) => ({ key: `#${i}`, at: i, ...part }) as Part),
})
const text = (content: string) => ({ type: 'text', id: 't', text: content, state: 'done' })
const call = (more: object) => ({
  type: 'tool',
  toolCallId: 'c',
  toolName: 'look',
  state: 'output-available',
  executor: 'server',
  input: { city: 'Ulm' },
  output: { celsius: 21 },
  ...more,
})
const rolesOf = (prompt: LanguageModelV4Prompt) => prompt.map(({ role }) => role).join(' ')
const GO_ON = { role: 'user', content: [{ type: 'text', text: 'Go on.' }] }

describe('roles', () => {
  test('merges instructions and system messages into the first message', () => {
    const prompt = promptOf(
      [message('user', text('a')), message('system', text('And polite.')), message('user', text('b'))],
      'Be brief.',
    )
    expect(prompt).toEqual([
      { role: 'system', content: 'Be brief.\n\nAnd polite.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ])
    expect(rolesOf(promptOf([message('user', text('a'))], ' '))).toBe('user')
  })

  test('continues after an answer without a following message, and with an empty history', () => {
    expect(promptOf([])).toMatchObject([GO_ON])
    const half = message('assistant', text('It is'))
    expect(promptOf([message('user', text('a')), half])).toMatchObject([{ role: 'user' }, { role: 'assistant' }, GO_ON])
    expect(promptOf([half, half])).toMatchObject([GO_ON, { role: 'assistant' }, GO_ON, { role: 'assistant' }, GO_ON])
    expect(rolesOf(promptOf([half, message('user', text('b'))]))).toBe('user assistant user')
  })

  test('skips empty messages', () => {
    const reasoning = { type: 'reasoning', id: 'r', text: 'hm', state: 'done' }
    for (const parts of [[], [text('')], [text(' \n')], [reasoning], [{ type: 'data-x', data: 1 }]]) {
      expect(promptOf([message('user', text('a')), message('assistant', ...parts)])).toHaveLength(1)
      expect(promptOf([message('user', ...parts), message('user', text('a'))])).toHaveLength(1)
    }
  })
})

describe('a reply', () => {
  test('alternates text and calls of each step with their results', () => {
    const prompt = promptOf([
      message('user', text('a')),
      message(
        'assistant',
        { type: 'step-start' },
        text('Let me see.'),
        call({ toolCallId: 'c1' }),
        call({ toolCallId: 'c2', state: 'output-error', output: undefined, errorText: 'no', code: 'tool_timeout' }),
        { type: 'step-start' },
        text('Warm.'),
      ),
      message('user', text('b')),
    ])
    expect(prompt.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Let me see.' },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: { city: 'Ulm' } },
          { type: 'tool-call', toolCallId: 'c2', toolName: 'look', input: { city: 'Ulm' } },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'look', output: { type: 'json', value: { celsius: 21 } } },
          { type: 'tool-result', toolCallId: 'c2', toolName: 'look', output: { type: 'error-text', value: 'no' } },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Warm.' }] },
      { role: 'user', content: [{ type: 'text', text: 'b' }] },
    ])
  })

  test('keeps results of provider tools in the assistant message, with their metadata', () => {
    const providerMetadata = { maker: { item: '1' } }
    const [, reply] = promptOf([
      message('user', text('a')),
      message('assistant', call({ executor: 'provider', output: 'found', providerMetadata }), text('So.')),
    ])
    expect(reply?.content).toEqual([
      {
        type: 'tool-call',
        toolCallId: 'c',
        toolName: 'look',
        input: { city: 'Ulm' },
        providerExecuted: true,
        providerOptions: providerMetadata,
      },
      {
        type: 'tool-result',
        toolCallId: 'c',
        toolName: 'look',
        output: { type: 'text', value: 'found' },
        providerOptions: providerMetadata,
      },
      { type: 'text', text: 'So.' },
    ])
  })

  test('skips a call that was interrupted while its input streamed', () => {
    const userMessage = message('user', text('a'))
    for (const part of [
      call({ state: 'input-streaming', output: undefined }),
      call({ state: 'output-error', code: 'interrupted', input: undefined }),
    ]) {
      expect(rolesOf(promptOf([userMessage, message('assistant', part)]))).toBe('user')
    }
    const denied = call({ state: 'output-denied', approval: { id: 'a', approved: false, reason: 'never' } })
    expect(promptOf([userMessage, message('assistant', denied)]).at(-1)).toMatchObject({
      content: [{ output: { type: 'execution-denied', reason: 'never' } }],
    })
    const open = call({ state: 'input-available', output: undefined })
    expect(promptOf([userMessage, message('assistant', open)]).at(-1)).toMatchObject({
      content: [{ output: { type: 'error-text' } }],
    })
  })

  test('converts invalid names and inputs to what providers accept', () => {
    const refused = { state: 'output-error', errorText: 'no', output: undefined }
    const [, reply, results] = promptOf([
      message('user', text('a')),
      message('assistant', call({ ...refused, toolName: 'multi.tool/use', input: '{"ci' })),
    ])
    expect(reply?.content).toMatchObject([{ toolName: 'multi_tool_use', input: { input: '{"ci' } }])
    expect(results?.content).toMatchObject([{ toolName: 'multi_tool_use' }])
    // A tool with a text input.
    const noted = message('assistant', call({ input: 'a note' }))
    expect(promptOf([message('user', text('a')), noted])[1]?.content).toMatchObject([{ input: 'a note' }])
  })

  test('sends files by bytes or URL, and names unreadable ones', () => {
    const file = (url: string, more: object = {}) => ({ type: 'file', mediaType: 'image/png', url, ...more })
    const [firstMessage] = promptOf([
      message(
        'user',
        file('data:image/png;base64,AQID', { filename: 'a.png' }),
        file('data:text/plain,a%20b'),
        file('https://example.org/a.png'),
        file('/local/a.png', { filename: 'a.png' }),
      ),
    ])
    expect(firstMessage?.content).toEqual([
      { type: 'file', mediaType: 'image/png', filename: 'a.png', data: { type: 'data', data: 'AQID' } },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: Buffer.from('a b').toString('base64') } },
      { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://example.org/a.png') } },
      { type: 'text', text: '[file a.png, image/png] cannot be read' },
    ])
  })
})

describe('provider metadata', () => {
  const signed = (signature: string) => ({ providerMetadata: { maker: { signature } } })
  const look = tool({ name: 'look', inputSchema: z.object({}), execute: () => 'x'.repeat(100_000) })

  test('sends signatures, provider content and large values back', async () => {
    const bytes = Buffer.alloc(100_000, 7)
    const model = partsModel(
      [
        { type: 'reasoning-start', id: 'r' },
        { type: 'reasoning-delta', id: 'r', delta: 'I must look.' },
        { type: 'reasoning-delta', id: 'r', delta: '', ...signed('1') },
        { type: 'reasoning-end', id: 'r' },
        { type: 'reasoning-start', id: 'h', providerMetadata: { maker: { redacted: '2' } } },
        { type: 'reasoning-end', id: 'h' },
        { type: 'custom', kind: 'maker.compaction', ...signed('3') },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: bytes } },
        ...textParts('Let me see.'),
        { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}', ...signed('4') },
        finish('tool-calls'),
      ],
      [...textParts('So.'), finish()],
    )
    const harness = new AgentHarness(model, { tools: [look] })
    const { entries } = await harness.run()
    expect(entries.filter(({ blobs }) => blobs).map(({ chunk }) => chunk.type)).toEqual([
      'file',
      'tool-output-available',
    ])
    const prompt = model.calls[1]?.prompt ?? []
    expect(problemsOf(prompt)).toEqual([])
    expect(prompt[1]?.content).toEqual([
      { type: 'reasoning', text: 'I must look.', providerOptions: { maker: { signature: '1' } } },
      { type: 'reasoning', text: '', providerOptions: { maker: { redacted: '2' } } },
      { type: 'custom', kind: 'maker.compaction', providerOptions: { maker: { signature: '3' } } },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: bytes.toString('base64') } },
      { type: 'text', text: '[file image/png]' },
      { type: 'text', text: 'Let me see.' },
      {
        type: 'tool-call',
        toolCallId: 'c',
        toolName: 'look',
        input: {},
        providerOptions: { maker: { signature: '4' } },
      },
    ])
    expect(prompt[2]?.content).toMatchObject([{ output: { type: 'text', value: 'x'.repeat(100_000) } }])
    await harness.close()
  })

  test('sends metadata back after a run was interrupted in a tool and resumed', async () => {
    const prompts: LanguageModelV4Prompt[] = []
    const { promise: entered, resolve: enter } = Promise.withResolvers<void>()
    const model = scriptedModel(({ options, answers }) => {
      prompts.push(options.prompt)
      if (answers > 0) return { text: 'Done.' }
      return { text: 'Let me see.', calls: ['wait', 'look'].map(name => ({ name, input: {} })) }
    })
    const wait = tool({
      name: 'wait',
      inputSchema: z.object({}),
      execute: () => {
        enter()
        return new Promise(() => {})
      },
    })
    const harness = new AgentHarness(model, { tools: [look, wait] })
    const run = await harness.start()
    await entered
    await run.stop()
    expect(await run.result()).toMatchObject({ status: 'interrupted' })
    const resumed = await harness.runtime.resume('s', run.runId)
    expect(await resumed.result()).toMatchObject({ status: 'completed', text: 'Done.' })
    for (const prompt of prompts) expect(problemsOf(prompt)).toEqual([])
    expect(rolesOf(prompts[1] ?? [])).toBe('user assistant tool')
    await harness.close()
  })

  test('sends metadata back after a failed run, and after one that was interrupted within a delta', async () => {
    const prompts: LanguageModelV4Prompt[] = []
    const { promise: shown, resolve: show } = Promise.withResolvers<void>()
    const model: LanguageModelV4 = {
      ...partsModel(),
      async doStream({ prompt }) {
        prompts.push(prompt)
        if (prompts.length === 1) throw new Error('broken')
        if (prompts.length === 3) return { stream: streamOf([...textParts('Done.'), finish()]) }
        const half = { type: 'text-delta', id: '0', delta: 'It is' } as const
        // A reader that asks for more has consumed half, and waits forever.
        const pull = () => {
          show()
          return new Promise<void>(() => {})
        }
        return {
          stream: new ReadableStream({ start: controller => controller.enqueue(half), pull }, { highWaterMark: 0 }),
        }
      },
    }
    const harness = new AgentHarness(model, { maxRetries: 0 })
    expect((await harness.run('first')).result.status).toBe('failed')
    const run = await harness.start('second')
    await shown
    await run.stop()
    expect(await run.result()).toMatchObject({ status: 'interrupted', text: 'It is' })
    const resumed = await harness.runtime.resume('s', run.runId)
    expect((await resumed.result()).status).toBe('completed')
    for (const prompt of prompts) expect(problemsOf(prompt)).toEqual([])
    expect(prompts.map(rolesOf)).toEqual(['user', 'user', 'user assistant user'])
    expect(prompts[1]?.[0]?.content).toEqual([
      { type: 'text', text: 'first' },
      { type: 'text', text: 'second' },
    ])
    expect(prompts[2]).toMatchObject([{}, { content: [{ type: 'text', text: 'It is' }] }, GO_ON])
    await harness.close()
  })
})
