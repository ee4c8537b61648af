// Values keep their type through every dialect: a text that looks like JSON stays a text, in inputs and outputs, from the server to the page and back.

import { type Chat, createChat } from '@millrace/client'
import { agUi } from '@millrace/dialects/ag-ui'
import { aiSdk } from '@millrace/dialects/ai-sdk'
import type { ForeignConnection } from '@millrace/dialects/foreign-server'
import { helix } from '@millrace/dialects/helix'
import { kortyx } from '@millrace/dialects/kortyx'
import { tanstack } from '@millrace/dialects/tanstack'
import type { Chunk, Json, ToolPart } from '@millrace/protocol'
import { agent, scriptedModel, tool, useInterrupt, workflow } from '@millrace/runtime'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { openBackend } from './backend.fixture.ts'
import { DIALECTS } from './dialects.fixture.ts'

const VALUES: readonly Json[] = [
  '{"a":1}',
  '[1]',
  '"x"',
  '5',
  'null',
  'true',
  '',
  ' {"a":1}',
  '{"a":',
  '😀',
  5,
  0,
  true,
  null,
  [],
  {},
  [1, '2'],
  { a: '1' },
  { error: 'no' },
  { value: 1 },
]

describe.each(DIALECTS)('$name', dialect => {
  test.each(['sent at once', 'after its start', 'streamed as its JSON', 'streamed as its text'])(
    'decodes the input of a call and its output to the encoded values: %s',
    form => {
      for (const value of VALUES) {
        const call = { toolCallId: 'c', toolName: 'give' }
        const delta = form === 'streamed as its JSON' ? JSON.stringify(value) : String(value)
        const chunks: Chunk[] = [
          ...(form === 'sent at once' ? [] : [{ type: 'tool-input-start', ...call } as const]),
          ...(form.startsWith('streamed') ? [{ type: 'tool-input-delta', toolCallId: 'c', delta } as const] : []),
          { type: 'tool-input-available', ...call, input: value },
          { type: 'tool-output-available', toolCallId: 'c', output: value },
        ]
        const encoder = dialect.encoder()
        const decoder = dialect.decoder()
        const events = chunks.flatMap(chunk => encoder.encode({ chunk }))
        const decoded = events.flatMap(event => decoder.decode(JSON.parse(JSON.stringify(event))))
        expect(decoded.map(({ chunk }) => chunk)).toEqual(chunks)
      }
    },
  )
})

const anything = z.any()

/** A server tool that returns its input, and a client tool, each called with every value. */
const programs = () => {
  const give = tool({ name: 'give', inputSchema: anything, execute: value => value })
  const take = tool({ name: 'take', inputSchema: anything, client: true })
  const calling = (name: string) =>
    scriptedModel(({ turnAnswers, key }) =>
      turnAnswers === 0 ? { calls: VALUES.map((input, i) => ({ name, input, id: `${key}-${i}` })) } : { text: 'Done.' },
    )
  return [
    agent({ name: 'giver', model: calling('give'), tools: [give] }),
    agent({ name: 'taker', model: calling('take'), tools: [take] }),
  ]
}

const ask = async () => {
  await useInterrupt({ request: { kind: 'form', schema: {} } })
  return {}
}
const nodeNames = VALUES.map((_, i) => `ask-${i}`)

/** Asks for every value. */
const asker = workflow({
  id: 'asker',
  nodes: Object.fromEntries(nodeNames.map(name => [name, ask])),
  edges: [...nodeNames, 'end'].map((name, i) => [nodeNames[i - 1] ?? 'start', name] as const),
})

type Connect = (options: { readonly api: string }) => ForeignConnection

const CONNECTIONS: readonly [name: string, path: string, connect: Connect][] = [
  ['ai-sdk', 'ai-sdk', aiSdk],
  ['ag-ui', 'ag-ui', agUi],
  ['kortyx', 'kortyx', kortyx],
  ['helix', 'helix', helix],
  ['tanstack', 'tanstack', tanstack],
  ['tanstack chunks', 'tanstack', options => tanstack({ ...options, protocol: 'chunks' })],
]

const callsIn = (messages: Chat['store']['messages']) =>
  messages.flatMap(({ parts }) =>
    parts
      .filter((part): part is ToolPart => 'toolCallId' in part)
      .map(({ state, input, output, errorText }) => ({ state, input, output, errorText })),
  )

describe.each(CONNECTIONS)('%s', (_, path, connect) => {
  const open = async (name: string) => {
    const backend = await openBackend({ agents: programs(), workflows: [asker] })
    const chat = createChat({ connection: connect({ api: `${backend.url}/api/${path}/${name}` }) })
    onTestFinished(chat.start())
    const stored = async () => callsIn((await backend.view(chat.state.sessionId as string)).messages)
    return { chat, stored, backend }
  }

  test('shows the inputs and outputs of server tools as they are in the log', async () => {
    const { chat, stored } = await open('giver')
    await chat.sendMessage('go')
    await expect.poll(() => chat.state.status).toBe('ready')
    const expected = VALUES.map(value => ({ state: 'output-available', input: value, output: value }))
    expect(await stored()).toEqual(expected)
    expect(callsIn(chat.store.messages)).toEqual(expected)
  })

  test('sends the outputs of client tools as they are', async () => {
    const { chat, stored } = await open('taker')
    await chat.sendMessage('go')
    await expect.poll(() => chat.store.pendings.length).toBe(VALUES.length)
    for (const { id } of chat.store.pendings) {
      const output = VALUES[Number(id.split('-').at(-1))] as Json
      await chat.answer({ kind: 'tool-result', id, output })
    }
    await expect.poll(() => chat.state.status).not.toBe('streaming')
    expect(chat.state.error).toBeUndefined()
    await expect.poll(() => chat.state.status).toBe('ready')
    expect(await stored()).toEqual(VALUES.map(value => ({ state: 'output-available', input: value, output: value })))
  })

  test('sends the error of a client tool as an error', async () => {
    const { chat, stored } = await open('taker')
    await chat.sendMessage('go')
    await expect.poll(() => chat.store.pendings.length).toBe(VALUES.length)
    for (const { id } of chat.store.pendings) await chat.answer({ kind: 'tool-result', id, error: 'no signal' })
    await expect.poll(() => chat.state.status).toMatch(/ready|error/)
    // Kortyx has no field for it.
    if (path === 'kortyx') return expect(chat.state.error).toMatchObject({ code: 'answer_invalid' })
    expect(chat.state.error).toBeUndefined()
    const expected = VALUES.map(input => ({ state: 'output-error', input, errorText: 'no signal' }))
    expect(await stored()).toEqual(expected)
    expect(callsIn(chat.store.messages)).toEqual(expected)
  })

  test('sends the response to a form as it is', async () => {
    const { chat, backend } = await open('asker')
    await chat.sendMessage('go')
    const answered = new Set<string>()
    const nextId = () => chat.store.pendings.find(({ id }) => !answered.has(id))?.id
    for (const value of VALUES) {
      await expect.poll(nextId).toBeDefined()
      const id = nextId() as string
      answered.add(id)
      await chat.answer({ kind: 'interrupt', id, response: value })
    }
    await expect.poll(() => chat.state.status).toBe('ready')
    const { interrupts } = await backend.view(chat.state.sessionId as string)
    expect(interrupts.map(({ response }) => response)).toEqual(VALUES)
  })
})
