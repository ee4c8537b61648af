// Behaviours of docs/reference/behaviours.md that no other test covers.

import { beforeEach, expect, test } from 'vitest'
import { Api } from '../connection/api.ts'
import { finished, InProcessServer, transcript, until } from './in-process-server.fixture.ts'

let server: InProcessServer
beforeEach(() => {
  server = new InProcessServer()
})

test('sends the data of one message with that message only', async () => {
  const chat = server.chat({ data: { of: 'all' } })
  for (const data of [{ of: 'one' }, undefined]) {
    const end = finished(chat)
    await chat.sendMessage('Hello', data && { data })
    await end
  }
  expect(server.bodies('POST /runs')).toMatchObject([{ data: { of: 'one' } }, { data: { of: 'all' } }])
})

test('queues a message while an approval is pending, and answers it afterwards', async () => {
  const chat = server.chat()
  await chat.sendMessage('Sell')
  await until(chat, () => chat.state.status === 'paused' && chat.store.pendings.length === 1)
  await chat.sendMessage('And now?')
  expect(transcript(chat).at(-1)).toBe('user sending: And now?')
  const [pending] = chat.store.pendings
  await chat.answer({ kind: 'approval', id: pending?.id ?? '', approved: true })
  await until(chat, () => transcript(chat).includes('assistant sent: You said: And now?'))
  expect(transcript(chat)).toEqual([
    'user sent: Sell',
    'assistant sent: So be it.',
    'user sent: And now?',
    'assistant sent: You said: And now?',
  ])
})

test('accepts headers as object, pairs or Headers, and calls a function for each request', async () => {
  const seen: (string | null)[] = []
  const recordingFetch: typeof fetch = async (_, init) => {
    const headers = new Headers(init?.headers)
    seen.push(`${headers.get('x-key')} ${headers.get('accept')}`)
    return Response.json({})
  }
  let count = 0
  const all = [{ 'x-key': 'a' }, [['x-key', 'b']] as [string, string][], new Headers({ 'x-key': 'c' })]
  for (const headers of [...all, async () => ({ 'x-key': `d${++count}` })]) {
    const api = new Api({ api: 'http://localhost/api', headers, fetch: recordingFetch })
    await api.ask('GET', '/')
    await api.ask('GET', '/')
  }
  expect(seen).toEqual(['a', 'a', 'b', 'b', 'c', 'c', 'd1', 'd2'].map(key => `${key} application/json`))
})
