// @vitest-environment jsdom
// Metadata of a provider's response becomes message metadata. Tests its form in the client of each dialect.

import { isMillraceStreamChunk } from '@millrace/dialects/tanstack'
import type { Chunk } from '@millrace/protocol'
import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client'
import { ChatClient as LegacyClient, fetchServerSentEvents as legacyEvents } from 'seed-tanstack-ai-client'
import { expect, test } from 'vitest'
import { openClient as agUiClient, userMessage } from './ag-ui/ag-ui-client.fixture.ts'
import { chatWith } from './ai-sdk/ai-sdk-chat.fixture.ts'
import { openBackend } from './backend.fixture.ts'
import { HelixClient, readAllEvents } from './helix/helix-client.fixture.ts'
import { chunksIn, extraChunksIn, post } from './kortyx/kortyx-page.fixture.ts'
import { Page } from './mui/mui-page.fixture.tsx'

const METADATA = { response: { id: 'answer-1', modelId: 'scripted-1' } }
const METADATA_CHUNK: Chunk = { type: 'message-metadata', metadata: METADATA }

test('stores metadata in the log', async () => {
  const backend = await openBackend()
  await chatWith(backend, 'signer').sendMessage({ text: 'sign' })
  expect((await backend.view('s')).messages.at(-1)?.metadata).toEqual(METADATA)
})

test('AI SDK: sends it as metadata of the message', async () => {
  const chat = chatWith(await openBackend(), 'signer')
  await chat.sendMessage({ text: 'sign' })
  expect(chat.lastMessage?.metadata).toEqual(METADATA)
})

test('MUI X Chat: sends it as metadata of the message', async () => {
  const { url } = await openBackend()
  const page = new Page({ url: `${url}/api/mui/signer`, conversationId: 's' })
  await page.sendMessage('sign')
  expect(page.errors).toEqual([])
  expect(page.last?.metadata).toEqual(METADATA)
})

test('TanStack AI: sends a custom event, because its protocol has no message metadata', async () => {
  const { url } = await openBackend()
  const received: unknown[] = []
  const client = new ChatClient({
    threadId: 's',
    connection: fetchServerSentEvents(`${url}/api/tanstack/signer`),
    onCustomEvent: (name: string, value: unknown) => void received.push([name, value]),
  } as ConstructorParameters<typeof ChatClient>[0])
  await client.sendMessage('sign')
  expect(client.getMessages().at(-1)).toMatchObject({ parts: [{ type: 'text', content: 'Signed.' }] })
  expect(client.getMessages().at(-1)).not.toHaveProperty('metadata.response')
  expect(received).toContainEqual(['millrace', METADATA_CHUNK])
})

test('TanStack AI 0.2: sends an additional chunk, because its messages have no metadata', async () => {
  const { url } = await openBackend()
  const chunks: { readonly type: string }[] = []
  const connection = legacyEvents(`${url}/api/tanstack/signer`)
  const client = new LegacyClient({ id: 's', connection, onChunk: chunk => void chunks.push(chunk) })
  await client.sendMessage('sign')
  expect(Object.keys(client.getMessages().at(-1) ?? {})).not.toContain('metadata')
  expect(chunks.filter(isMillraceStreamChunk).map(({ chunk }) => chunk)).toContainEqual(METADATA_CHUNK)
})

test('AG-UI: sends a custom event, because its messages have no metadata', async () => {
  const { agent, events } = agUiClient(await openBackend(), 'signer', [userMessage('sign')])
  await agent.runAgent()
  expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'Signed.' })
  expect(agent.messages.at(-1)).not.toHaveProperty('metadata.response')
  expect(events).toContainEqual(expect.objectContaining({ type: 'CUSTOM', name: 'millrace', value: METADATA_CHUNK }))
})

test('Kortyx: sends a chunk that its clients ignore, because it has only trace metadata', async () => {
  const { url } = await openBackend()
  const body = { sessionId: 's', messages: [{ role: 'user', content: 'sign' }] }
  const chunks = chunksIn(await (await post(`${url}/api/kortyx/signer`, body)).text())
  expect(extraChunksIn(chunks)).toContainEqual(METADATA_CHUNK)
})

test('Helix: sends a custom chunk, because it has no message metadata', async () => {
  const { url } = await openBackend()
  const client = new HelixClient(url, 'signer')
  const received = await readAllEvents(await client.post('start', { message: 'sign' }, 'text/event-stream'))
  const custom = received.flatMap(event =>
    event.type === 'chunk' && event.chunk.type === 'custom' ? [event.chunk] : [],
  )
  expect(custom).toContainEqual(expect.objectContaining({ eventName: 'millrace', data: expect.objectContaining({}) }))
  expect(JSON.stringify(custom)).toContain(JSON.stringify(METADATA).slice(1, -1))
})
