import { isMillraceStreamChunk, streamChunks } from '@millrace/dialects/tanstack'
import type { Chunk } from '@millrace/protocol'
import { type StreamChunk, StreamProcessor, toolDefinition } from 'seed-tanstack-ai'
import {
  ChatClient,
  type ChatClientOptions,
  clientTools,
  fetchHttpStream,
  fetchServerSentEvents,
  stream,
  type UIMessage,
} from 'seed-tanstack-ai-client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { proxy } from '../../scripts/faults/proxy.ts'
import { type Backend, openBackend } from '../backend.fixture.ts'
import { expectOrder } from './expect-order.fixture.ts'

/** A client and its received chunks. */
function open(backend: Backend, agent: string, options: Partial<ChatClientOptions> & { url?: string } = {}) {
  const chunks: StreamChunk[] = []
  const { url = `${backend.url}/api/tanstack/${agent}`, ...rest } = options
  const client = new ChatClient({
    id: 's',
    connection: fetchServerSentEvents(url),
    onChunk: chunk => chunks.push(chunk),
    ...rest,
  })
  const extensionChunks = (): Chunk[] =>
    (chunks as { type: string }[]).filter(isMillraceStreamChunk).map(({ chunk }) => chunk)
  return { client, chunks, extensionChunks }
}

const partsOf = (client: ChatClient) => client.getMessages().flatMap(({ parts }) => parts)
const textOf = (message: UIMessage | undefined) =>
  message?.parts.flatMap(part => (part.type === 'text' ? [part.content] : [])).join('|')
const lastOf = (client: ChatClient) => textOf(client.getMessages().at(-1))
const approvalIn = (client: ChatClient) => {
  const part = partsOf(client).find(part => part.type === 'tool-call' && part.approval)
  return part?.type === 'tool-call' ? part.approval : undefined
}

test('receives text and thinking, and a second turn', async () => {
  const backend = await openBackend()
  const warned = vi.spyOn(console, 'warn')
  const { client, chunks } = open(backend, 'teller')
  await client.sendMessage('hi')
  await client.sendMessage('again')
  expect(client.getError()).toBeUndefined()
  expect(partsOf(client)).toEqual([
    { type: 'text', content: 'hi' },
    { type: 'thinking', content: 'What did they say?' },
    { type: 'text', content: 'You said: hi' },
    { type: 'text', content: 'again' },
    { type: 'thinking', content: 'What did they say?' },
    { type: 'text', content: 'You said: again' },
  ])
  expect(chunks.find(({ type }) => type === 'content')).toMatchObject({ model: 'millrace:scripted', role: 'assistant' })
  expect(warned).not.toHaveBeenCalled()
  expect((await backend.view('s')).messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
})

test('receives parallel calls with input in several steps, and data chunks', async () => {
  const backend = await openBackend()
  const { client, chunks, extensionChunks } = open(backend, 'weigher')
  await client.sendMessage('weigh')
  expectOrder(chunks as never)
  expect(
    client
      .getMessages()
      .at(-1)
      ?.parts.map(({ type }) => type),
  ).toEqual(['text', 'tool-call', 'tool-call', 'tool-result', 'tool-result', 'text'])
  expect(lastOf(client)).toBe('I weigh both.|Oats are heavier.')
  expect(partsOf(client)).toContainEqual(
    expect.objectContaining({ type: 'tool-call', arguments: '{"what":"oats","kilos":6}', state: 'input-complete' }),
  )
  const { type, ...rest } = extensionChunks().find(({ type }) => type === 'data-scale') ?? { type: 'none' }
  expect({ type, ...rest }).toMatchObject({ type: 'data-scale', data: { what: 'rye' } })
})

test.each([
  [true, 'sold'],
  [false, 'error'],
] as const)('an approval continues automatically through the bridge: %s', async (approved, found) => {
  const backend = await openBackend()
  const { client, chunks } = open(backend, 'seller')
  await client.sendMessage('sell')
  const approval = approvalIn(client)
  expect(approval).toMatchObject({ needsApproval: true })
  client.updateOptions({ body: { approvals: { [approval?.id ?? '']: approved } } })
  await client.addToolApprovalResponse({ id: approval?.id ?? '', approved })
  expect(client.getError()).toBeUndefined()
  expectOrder(chunks as never)
  expect(lastOf(client)).toBe('So much for the flour.')
  // The outcome is in the next message, like with a TanStack server.
  const result = client
    .getMessages()
    .at(-1)
    ?.parts.find(({ type }) => type === 'tool-result')
  expect(result).toMatchObject({ content: expect.stringContaining(found) })
  expect(backend.calls['seller']).toBe(2)
  const { messages } = await backend.view('s')
  expect(messages.at(-1)?.parts).toContainEqual(
    expect.objectContaining({ type: 'tool', state: approved ? 'output-available' : 'output-denied' }),
  )
})

test('without the bridge the client does not send the decision: the request fails, and nothing runs', async () => {
  const backend = await openBackend()
  const { client } = open(backend, 'seller')
  await client.sendMessage('sell')
  await client.addToolApprovalResponse({ id: approvalIn(client)?.id ?? '', approved: true })
  expect(client.getError()?.message).toContain('409')
  expect(backend.calls['seller']).toBe(1)
  expect((await backend.view('s')).pendings.length).toBe(1)
})

test('rejects forged approvals and results', async () => {
  const backend = await openBackend()
  const { client } = open(backend, 'seller')
  await client.sendMessage('sell')
  const approval = approvalIn(client)
  client.updateOptions({ body: { approvals: { forged: true } } })
  await client.addToolApprovalResponse({ id: approval?.id ?? '', approved: true })
  expect(client.getError()?.message).toContain('HTTP error! status: 4')
  const call = partsOf(client).find(part => part.type === 'tool-call')
  const body = {
    messages: [
      { role: 'user', content: 'sell' },
      { role: 'tool', toolCallId: call?.type === 'tool-call' ? call.id : '', content: '{"sold":"all"}' },
    ],
    data: { conversationId: 's' },
  }
  const reply = await fetch(`${backend.url}/api/tanstack/seller`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect([reply.status, await reply.json()]).toMatchObject([409, { error: { code: 'transcript_refused' } }])
  expect(backend.calls['seller']).toBe(1)
})

test('the client runs a client tool and continues automatically', async () => {
  const backend = await openBackend()
  const locate = toolDefinition({
    name: 'locate',
    description: 'Where the person is.',
    inputSchema: z.object({ precise: z.boolean() }),
    outputSchema: z.object({ city: z.string() }),
  })
  const execute = vi.fn(async () => ({ city: 'Ulm' }))
  const { client, chunks } = open(backend, 'guide', { tools: clientTools(locate.client(execute)) })
  await client.sendMessage('where')
  await expect.poll(() => lastOf(client)).toBe('Now I know.')
  expect(client.getError()).toBeUndefined()
  expect(execute).toHaveBeenCalledExactlyOnceWith({ precise: false })
  expectOrder(chunks as never)
  expect((await backend.view('s')).messages.at(-1)?.parts).toContainEqual(
    expect.objectContaining({ type: 'tool', output: { city: 'Ulm' } }),
  )
})

test('a workflow interrupt is an additional chunk, answered by a separate request', async () => {
  const backend = await openBackend()
  const { client, extensionChunks } = open(backend, 'asker')
  await client.sendMessage('go')
  const question = extensionChunks().find(chunk => chunk.type === 'interrupt')
  expect(question).toMatchObject({ input: { question: 'Rye or oats?' } })
  const id = question?.type === 'interrupt' ? question.interruptId : ''
  client.updateOptions({ body: { answers: [{ kind: 'interrupt', id, response: 'rye' }] } })
  // There is no call to complete, so the page sends the request that the client sends after one.
  await client.append({ id: 'a', role: 'assistant', parts: [] })
  expect(client.getError()).toBeUndefined()
  expect(lastOf(client)).toBe('You chose "rye".')
})

test('structured data, sources and files are additional chunks', async () => {
  const backend = await openBackend()
  const list = open(backend, 'lister', { id: 'list' })
  await list.client.sendMessage('list')
  expect(list.extensionChunks().findLast(({ type }) => type === 'structured-data')).toMatchObject({
    kind: 'final',
    data: { title: 'What there is' },
  })
  const books = open(backend, 'librarian', { id: 'books' })
  await books.client.sendMessage('read')
  expect(lastOf(books.client)).toBe('See these.')
  const types = books.extensionChunks().map(({ type }) => type)
  expect(types).toEqual(expect.arrayContaining(['source-url', 'source-document', 'file']))
})

test('receives a failed call, a provider-executed call and a sub-agent', async () => {
  const backend = await openBackend()
  for (const [agent, text, result] of [
    ['breaker', 'It broke.', '{"error":"broken failed"}'],
    ['searcher', 'Found two.', '{"hits":2}'],
    ['boss', 'I ask.|They counted.', 'Counted: sacks'],
  ] as const) {
    const { client, chunks } = open(backend, agent, { id: agent })
    await client.sendMessage('go')
    expectOrder(chunks as never)
    expect(lastOf(client)).toBe(text)
    expect(partsOf(client)).toContainEqual(expect.objectContaining({ type: 'tool-result', content: result }))
  }
})

test('an error in the middle of an answer is the last chunk', async () => {
  const backend = await openBackend()
  const { client, chunks } = open(backend, 'stumbler')
  await client.sendMessage('go')
  expect(client.getError()?.message).toBe('no more')
  expect(chunks.at(-1)).toMatchObject({ type: 'error', error: { code: 'provider_invalid_request' } })
  expect(await raw(backend, 'stumbler')).not.toContain('[DONE]')
})

test('a discarded draft stays on the live screen, because the client has no retraction; late readers do not see it', async () => {
  const backend = await openBackend()
  const { client } = open(backend, 'flaky')
  await client.sendMessage('go')
  expect(lastOf(client)).toBe('I mean, er,The wheel turns.')
  const { runs } = await backend.view('s')
  const run = (await backend.app.runtime()).run('s', runs[0]?.runId as string)
  const later = open(backend, 'flaky', { connection: stream(() => streamChunks(run.stream())) }).client
  await later.sendMessage('go')
  expect(lastOf(later)).toBe('The wheel turns.')
  expect(partsOf(later).flatMap(part => (part.type === 'thinking' ? [part.content] : []))).toEqual(['Now then.'])
})

async function raw(backend: Backend, agent: string, query = '', headers: Record<string, string> = {}): Promise<string> {
  const reply = await fetch(`${backend.url}/api/tanstack/${agent}${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'raw' }], data: { conversationId: `raw${query}` } }),
  })
  return reply.text()
}

test('Server-Sent Events contain only data and [DONE], without chunks that the client warns about', async () => {
  const backend = await openBackend()
  const lines = (await raw(backend, 'teller')).split('\n').filter(line => line !== '')
  expect(lines.every(line => line.startsWith('data: '))).toBe(true)
  expect(lines.at(-1)).toBe('data: [DONE]')
})

test('sends NDJSON by query or `Accept`, and empty contents', async () => {
  const backend = await openBackend()
  const url = `${backend.url}/api/tanstack/weigher?format=ndjson&content=empty`
  const { client, chunks } = open(backend, 'weigher', { connection: fetchHttpStream(url) })
  await client.sendMessage('hi')
  expect(lastOf(client)).toBe('I weigh both.|Oats are heavier.')
  expect(new Set(chunks.flatMap(chunk => (chunk.type === 'content' ? [chunk.content] : [])))).toEqual(new Set(['']))
  const accepted = await raw(backend, 'teller', '', { accept: 'application/x-ndjson' })
  expect(
    accepted
      .split('\n')
      .filter(Boolean)
      .map(line => JSON.parse(line).type),
  ).toContain('done')
})

test('direct: a run in the same process', async () => {
  const backend = await openBackend()
  const runtime = await backend.app.runtime()
  const { client } = open(backend, 'teller', {
    connection: stream(async function* (messages) {
      const last = messages.at(-1)?.content
      const run = await runtime.start({ session: 'direct', agent: 'teller', input: String(last) })
      yield* streamChunks(run.stream())
    }),
  })
  await client.sendMessage('hi')
  expect(lastOf(client)).toBe('You said: hi')
})

test('direct: a paused run continues in the next message', async () => {
  const backend = await openBackend()
  const runtime = await backend.app.runtime()
  let decided: { readonly sequence: number } | undefined
  const { client, chunks } = open(backend, 'seller', {
    connection: stream(async function* () {
      const run =
        decided === undefined
          ? await runtime.start({ session: 'direct', agent: 'seller', runId: 'r', input: 'sell' })
          : runtime.run('direct', 'r')
      yield* streamChunks(run.stream(), { after: decided?.sequence })
    }),
  })
  await client.sendMessage('sell')
  const { id = '' } = approvalIn(client) ?? {}
  decided = await runtime.answer('direct', { kind: 'approval', id, approved: true })
  await client.addToolApprovalResponse({ id, approved: true })
  expect(lastOf(client)).toBe('So much for the flour.')
  expect(client.getMessages().map(textOf)).toEqual(['sell', 'May I?', 'So much for the flour.'])
  expect(chunks.filter(({ type }) => type === 'approval-requested').length).toBe(1)
})

test('stop: the client only disconnects, and the run continues until the stop route is called', async () => {
  const backend = await openBackend()
  const { client } = open(backend, 'holder')
  const sent = client.sendMessage('go')
  await backend.gate.reached
  await expect.poll(() => lastOf(client)).toBe('one two ')
  client.stop()
  await sent
  expect(lastOf(client)).toBe('one two ')
  const [run] = (await backend.view('s')).runs
  expect(run?.finishedAt).toBeUndefined()
  const stopped = await fetch(`${backend.url}/api/sessions/s/stop`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  expect(stopped.ok).toBe(true)
  await expect.poll(async () => (await backend.view('s')).runs[0]?.status).toBe('interrupted')
})

test('a broken connection is an error; repeating the request joins the run without running again', async () => {
  const backend = await openBackend()
  const between = await proxy(backend.url)
  onTestFinished(() => between.stop())
  const { client } = open(backend, 'holder', { url: between.url(`${backend.url}/api/tanstack/holder`) })
  const sent = client.sendMessage('go')
  await expect.poll(() => lastOf(client)).toBe('one two ')
  between.cut()
  await sent
  expect(client.getError()).toBeInstanceOf(Error)
  const again = client.reload()
  await expect.poll(() => lastOf(client)).toBe('one two ')
  backend.gate.open()
  await again
  expect(client.getError()).toBeUndefined()
  expect(lastOf(client)).toBe('one two three four')
  expect(backend.calls['holder']).toBe(1)
})

test('a repeated request is one run; after its end it is a reload, which regenerates', async () => {
  const backend = await openBackend()
  const [one, two] = [open(backend, 'holder').client, open(backend, 'holder').client]
  const both = [one.sendMessage('go'), two.sendMessage('go')]
  await expect.poll(() => [lastOf(one), lastOf(two)]).toEqual(['one two ', 'one two '])
  backend.gate.open()
  await Promise.all(both)
  expect([lastOf(one), lastOf(two)]).toEqual(['one two three four', 'one two three four'])
  expect(backend.calls['holder']).toBe(1)
  await one.reload()
  expect(one.getError()).toBeUndefined()
  expect(backend.calls['holder']).toBe(2)
  expect((await backend.view('s')).messages.length).toBe(2)
})

test('an edited history is an edit and removes what followed', async () => {
  const backend = await openBackend()
  const { client } = open(backend, 'teller')
  await client.sendMessage('one')
  await client.sendMessage('two')
  client.setMessagesManually(client.getMessages().slice(0, 2))
  await client.sendMessage('three')
  expect(client.getError()).toBeUndefined()
  expect(lastOf(client)).toBe('You said: three')
  const { messages } = await backend.view('s')
  expect(messages.flatMap(({ parts }) => parts.flatMap(part => (part.type === 'text' ? [part.text] : [])))).toEqual([
    'one',
    'You said: one',
    'three',
    'You said: three',
  ])
})

test('a message with a server tool does not continue automatically: the client never considers such a call complete', async () => {
  const backend = await openBackend()
  const { client, chunks } = open(backend, 'weigher')
  await client.sendMessage('weigh')
  const processor = new StreamProcessor()
  processor.startAssistantMessage()
  for (const chunk of chunks) processor.processChunk(chunk)
  processor.finalizeStream()
  expect(processor.areAllToolsComplete()).toBe(false)
})
