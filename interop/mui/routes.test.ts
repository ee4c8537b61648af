// The server as a hand-written adapter uses it: envelopes over SSE, passed directly to the MUI runtime.

import type { MuiEvent } from '@millrace/dialects/mui'
import { ChatStore } from '@mui/x-chat-headless/store'
import { processStream } from '@mui/x-chat-headless/stream'
import type { ChatStreamEnvelope } from '@mui/x-chat-headless/types'
import { expect, test } from 'vitest'
import { type Backend, openBackend } from '../backend.fixture.ts'

const post = (backend: Backend, agent: string, body: object) =>
  fetch(`${backend.url}/api/mui/${agent}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ conversationId: 's', ...body }),
  })

const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'go' }] }

/** Events of a body, and their ids. */
async function read(response: Response): Promise<{ readonly envelopes: ChatStreamEnvelope[]; readonly ids: string[] }> {
  const text = await response.text()
  const lines = text.split('\n')
  return {
    envelopes: lines.flatMap(line => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : [])),
    ids: lines.flatMap(line => (line.startsWith('id: ') ? [line.slice(4)] : [])),
  }
}

const streamOf = (envelopes: readonly ChatStreamEnvelope[]) =>
  new ReadableStream<ChatStreamEnvelope>({
    start(controller) {
      for (const envelope of envelopes) controller.enqueue(envelope)
      controller.close()
    },
  })

test('envelopes can be passed to the MUI runtime unchanged, cut anywhere, and resumed from the last id', async () => {
  const backend = await openBackend()
  const { envelopes, ids } = await read(await post(backend, 'teller', { message }))
  const eventIds = envelopes.map(({ eventId }) => eventId)
  expect(new Set(eventIds).size).toBe(eventIds.length)
  // No sequences: they would have gaps, and the MUI runtime would wait for the missing ones forever.
  expect(envelopes.every(({ sequence }) => sequence === undefined)).toBe(true)
  for (const [i, id] of ids.entries()) {
    const store = new ChatStore({})
    const cut = envelopes.findIndex(({ eventId }) => eventId === id) + 1
    // Some events after the last id were received and are repeated.
    const first = await processStream(store, streamOf(envelopes.slice(0, cut + (i % 2))), {
      messageId: 'f',
      flushInterval: 0,
    })
    const rest = await read(
      await fetch(`${backend.url}/api/mui/teller/s/stream?run=${(await backend.view('s')).runs[0]?.runId}`, {
        headers: { 'last-event-id': id },
      }),
    )
    const seen = first.seenEventIds ?? []
    const options = { messageId: first.messageId as string, flushInterval: 0, seenEventIds: seen }
    await processStream(store, streamOf(rest.envelopes), options)
    const parts = Object.values(store.state.messagesById).flatMap(({ parts }) => parts)
    // The MUI runtime splits a text that continues in another stream.
    const text = parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('')
    expect(text).toBe('You said: go')
  }
})

test('an answer returns what follows it, with a start that names the message', async () => {
  const backend = await openBackend()
  const reply = await read(await post(backend, 'seller', { message }))
  expect(reply.envelopes.at(-1)?.chunk).toMatchObject({ type: 'finish', finishReason: 'tool-calls' })
  const [pending] = (await backend.view('s')).pendings
  const answers = [{ kind: 'approval', id: pending?.id, approved: true }]
  const { envelopes } = await read(await post(backend, 'seller', { answers }))
  const [first] = envelopes.map(({ chunk }) => chunk as MuiEvent).filter(({ type }) => type !== 'millrace')
  expect(first).toMatchObject({ type: 'start', messageId: (await backend.view('s')).messages[1]?.id })
  expect(JSON.stringify(envelopes)).toContain('So much for the flour.')
})

test('rejects unknown sessions and invalid positions', async () => {
  const backend = await openBackend()
  const get = (path: string) => fetch(`${backend.url}/api/mui/teller/${path}`)
  expect((await get('s/stream')).status).toBe(204)
  expect(await (await get('s/messages')).json()).toEqual({ messages: [], hasMore: false })
  await read(await post(backend, 'teller', { message }))
  expect((await get('s/stream')).status).toBe(204)
  expect((await get('s/stream?run=other')).status).toBe(404)
  const { runId } = (await backend.view('s')).runs[0] as { runId: string }
  const bad = await get(`s/stream?run=${runId}&after=x`)
  expect([bad.status, await bad.json()]).toMatchObject([400, { error: { code: 'cursor_invalid' } }])
  expect((await post(backend, 'teller', { conversationId: 'a\u0000', message })).status).toBe(400)
})
