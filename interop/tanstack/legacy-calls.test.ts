// Calls of several kinds in one message with the TanStack AI client 0.2, which continues when it considers all calls of a message complete.

import { agent, type ScriptedPrompt, scriptedModel, subAgent, tool } from '@millrace/runtime'
import { toolDefinition } from 'seed-tanstack-ai'
import { ChatClient, clientTools, fetchServerSentEvents } from 'seed-tanstack-ai-client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { type Backend, openBackend } from '../backend.fixture.ts'

const itemSchema = z.object({ what: z.string() })
const sell = tool({
  name: 'sell',
  inputSchema: itemSchema,
  approval: true,
  execute: ({ what }) => ({ sold: what }),
})
const weigh = tool({ name: 'weigh', inputSchema: itemSchema, execute: () => ({ kilos: 5 }) })
const locate = tool({
  name: 'locate',
  inputSchema: itemSchema,
  outputSchema: z.object({ city: z.string() }),
  client: true,
})

/** An agent that calls the given tools and then completes. */
const caller = (name: string, names: readonly string[], options: object) =>
  agent({
    name,
    model: scriptedModel(({ turnAnswers, key }: ScriptedPrompt) =>
      turnAnswers === 0
        ? { text: 'First.', calls: names.map((name, i) => ({ name, input: inputOf(name), id: `${key}-${i}` })) }
        : { text: 'Done with all of it.' },
    ),
    ...options,
  })

const inputOf = (name: string) => (name === 'clerk' ? { prompt: 'sell' } : { what: name })

const clerk = caller('clerk', ['sell'], { tools: [sell] })
const agents = [
  caller('guide', ['locate', 'locate', 'locate'], { tools: [locate] }),
  caller('mixed', ['sell', 'locate', 'weigh'], { tools: [sell, locate, weigh], parallelCalls: 3 }),
  caller('boss', ['clerk'], { subAgents: [subAgent(clerk, { description: 'Sells.' })] }),
]

const tools = clientTools(
  toolDefinition({
    name: 'locate',
    description: 'Where the person is.',
    inputSchema: itemSchema,
    outputSchema: z.object({ city: z.string() }),
  }).client(async () => ({ city: 'Ulm' })),
)

function open(backend: Backend, name: string, url = `${backend.url}/api/tanstack/${name}`) {
  const approvals: Record<string, boolean> = {}
  const client = new ChatClient({
    id: 's',
    tools,
    connection: fetchServerSentEvents(url, () => ({ body: { approvals } })),
  })
  return { client, approvals }
}

const textsOf = (client: ChatClient) =>
  client.getMessages().map(({ parts }) => parts.flatMap(part => (part.type === 'text' ? [part.content] : [])).join('|'))
const approvalStates = (client: ChatClient) =>
  client
    .getMessages()
    .flatMap(({ parts }) => parts)
    .flatMap(part =>
      part.type === 'tool-call' && part.state === 'approval-requested' ? [part.approval?.id ?? ''] : [],
    )

test('several client tools in one message: the client sends one request per tool and gets the answer once', async () => {
  const backend = await openBackend({ agents })
  const { client } = open(backend, 'guide')
  const posts = vi.spyOn(globalThis, 'fetch')
  onTestFinished(() => posts.mockRestore())
  await client.sendMessage('go')
  await expect.poll(() => [posts.mock.calls.length, client.getIsLoading()]).toEqual([4, false])
  expect(client.getError()).toBeUndefined()
  // The client creates a message per request, even without content.
  expect(textsOf(client)).toEqual(['go', 'First.', 'Done with all of it.', '', ''])
  // Results of the client stay where the client put them.
  const results = client.getMessages().map(({ parts }) => parts.filter(({ type }) => type === 'tool-result').length)
  expect(results).toEqual([0, 3, 0, 0, 0])
  expect((await backend.view('s')).runs).toMatchObject([{ status: 'completed' }])
  await client.sendMessage('again')
  await expect.poll(() => [posts.mock.calls.length, client.getIsLoading()]).toEqual([8, false])
  expect(textsOf(client).slice(5)).toEqual(['again', 'First.', 'Done with all of it.', '', ''])
})

test('law 7: a client with a partial answer gets all of it', async () => {
  const backend = await openBackend({ agents })
  await open(backend, 'guide').client.sendMessage('go')
  await expect.poll(async () => (await backend.view('s')).runs).toMatchObject([{ status: 'completed' }])
  const [, message] = (await backend.view('s')).messages
  const calls = (message?.parts ?? []).flatMap(part => ('toolCallId' in part ? [part.toolCallId] : []))
  const sendMessage = async (content: string) => {
    const messages = [
      { role: 'user', content: 'go' },
      ...calls.map(toolCallId => ({ role: 'tool', toolCallId, content: '{"city":"Ulm"}' })),
      { role: 'assistant', content },
    ]
    const body = JSON.stringify({ messages, data: { conversationId: 's' } })
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`${backend.url}/api/tanstack/guide`, { method: 'POST', headers, body })).text()
  }
  // The number of deltas is not fixed.
  const deltas = [...(await sendMessage('Done with')).matchAll(/"delta":"([^"]*)","content"/g)].map(
    ([, delta]) => delta,
  )
  expect(deltas.join('')).toBe('Done with all of it.')
  expect(await sendMessage('Done with all of it.')).not.toContain('"content"')
})

test.each(['mixed', 'boss'])(
  'the client never sends an approval beside a server call, but a page can send it: %s',
  async name => {
    const backend = await openBackend({ agents })
    const { client, approvals } = open(backend, name)
    await client.sendMessage('go')
    await expect.poll(() => approvalStates(client).length).toBe(1)
    const [id = ''] = approvalStates(client)
    approvals[id] = true
    await client.addToolApprovalResponse({ id, approved: true })
    expect((await backend.view('s')).pendings.length).toBeGreaterThan(0)
    expect(client.getIsLoading()).toBe(false)
    await client.append({ role: 'assistant', content: '' })
    expect(client.getError()).toBeUndefined()
    expect(textsOf(client).at(-1)).toBe('Done with all of it.')
    expect((await backend.view('s')).runs.map(({ status }) => status)).toContain('completed')
  },
)
