import { beforeEach, describe, expect, test } from 'vitest'
import { createConnection } from '../connection/page-connection.ts'
import type { ChatError } from '../error/chat-error.ts'
import { HttpChat } from './http-chat.ts'
import { finished, InProcessServer, transcript, until } from './in-process-server.fixture.ts'

let server: InProcessServer
beforeEach(() => {
  server = new InProcessServer()
})

const refuse = (code = 'too_much', status = 413) =>
  Response.json({ error: { code, message: 'No.', retryable: false } }, { status })

const isSend = (route: string) => route === 'POST /runs'

/** A chat with a finished turn for each of these messages. */
async function chatWith(...words: string[]): Promise<HttpChat> {
  const chat = server.chat()
  for (const word of words) {
    const end = finished(chat)
    await chat.sendMessage(word)
    await end
  }
  return chat
}

/** The server accepts sends, but the responses are lost, after `beforeLoss`. */
function loseReplies(chat: HttpChat, beforeLoss?: () => Promise<void>): void {
  server.intercept = async (route, body) => {
    if (!isSend(route)) return undefined as never
    const url = `http://localhost:4400/api/sessions/${chat.state.sessionId}/runs`
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    await server.app.fetch(new Request(url, { method: 'POST', headers, body: JSON.stringify(body) }))
    await beforeLoss?.()
    return unavailable()
  }
}

/** A failure with a Retry-After that is too long to wait for. */
const unavailable = () => new Response('', { status: 504, headers: { 'retry-after': '600' } })

describe('sendMessage', () => {
  test('sends messages in order, also if the first needs a retry', async () => {
    const chat = server.chat()
    let n = 0
    server.intercept = route => (isSend(route) && n++ === 0 ? new Response('', { status: 503 }) : undefined)
    await Promise.all([chat.sendMessage('one'), chat.sendMessage('two')])
    const inputs = server.bodies('POST /runs').map(body => (body as { input: { parts: { text: string }[] } }).input)
    expect(inputs.map(({ parts }) => parts[0]?.text)).toEqual(['one', 'one', 'two'])
    await until(chat, () => transcript(chat).includes('assistant sent: You said: two'))
    expect(transcript(chat).filter(line => line.startsWith('user'))).toEqual(['user sent: one', 'user sent: two'])
  })

  test('clears the error of a message that arrived although all responses were lost', async () => {
    const chat = server.chat()
    loseReplies(chat)
    const end = finished(chat)
    const { messageId, error } = await chat.sendMessage('Hello')
    expect([error?.code, chat.state.error, transcript(chat)]).toEqual(['http_504', error, ['user error: Hello']])
    await end
    await until(chat, () => chat.state.status === 'ready')
    expect([chat.state.error, chat.store.message(messageId)?.status]).toEqual([undefined, 'sent'])
  })

  test('reports no error if the log has the run before the send fails', async () => {
    const chat = await chatWith('Hello')
    const errors: ChatError[] = []
    chat.callbacks = { onError: error => void errors.push(error) }
    loseReplies(chat, () => until(chat, () => transcript(chat).includes('assistant sent: You said: Again')))
    expect(await chat.sendMessage('Again')).toMatchObject({ runId: expect.any(String) })
    expect([errors, chat.state.error]).toEqual([[], undefined])
  })

  test('follows a run without start() until it finishes', async () => {
    const connection = createConnection({ api: 'http://localhost:4400/api', fetch: server.fetch })
    const chat = new HttpChat({ agent: 'echo', connection, streamFlushInterval: 0 })
    for (const word of ['one', 'two']) {
      const end = finished(chat)
      await chat.sendMessage(word)
      await end
      expect(transcript(chat).at(-1)).toBe(`assistant sent: You said: ${word}`)
      await until(chat, () => chat.state.connection.status === 'idle')
      expect([chat.state.status, connection.size]).toEqual(['ready', 0])
    }
  })

  test('start() takes over from a send that follows by itself', async () => {
    const connection = createConnection({ api: 'http://localhost:4400/api', fetch: server.fetch })
    const chat = new HttpChat({ agent: 'echo', connection, streamFlushInterval: 0 })
    await chat.sendMessage('Slowly')
    await until(chat, () => chat.state.status === 'streaming')
    const stop = chat.start()
    expect(connection.size).toBe(1)
    await chat.stop()
    stop()
    expect(connection.size).toBe(0)
  })

  test('fails and can resend a message if the session is deleted before its first entry', async () => {
    const chat = server.chat()
    const url = `http://localhost:4400/api/sessions/${chat.state.sessionId}`
    let isGone = false
    server.intercept = async route => {
      if (!route.endsWith('/stream') || isGone) return undefined as never
      isGone = true
      await server.app.fetch(new Request(url, { method: 'DELETE' }))
      return undefined as never
    }
    const { messageId } = await chat.sendMessage('Hello')
    await until(chat, () => chat.state.status === 'error')
    expect(chat.store.message(messageId)).toMatchObject({ status: 'error', error: { code: 'session_unknown' } })
    const end = finished(chat)
    await chat.retry(messageId)
    await end
    expect(transcript(chat)).toEqual(['user sent: Hello', 'assistant sent: You said: Hello'])
  })

  test('shows local files while they upload, and keeps them for a resend', async () => {
    const chat = server.chat()
    const file = new File(['abc'], 'a.txt', { type: 'text/plain' })
    server.intercept = route => (isSend(route) ? refuse() : undefined)
    const sent = chat.sendMessage({ files: [file].values() })
    const local = { type: 'file', filename: 'a.txt', mediaType: 'text/plain', url: expect.stringMatching(/^blob:/) }
    expect(chat.store.messages).toMatchObject([{ status: 'sending', parts: [local] }])
    const { messageId } = await sent
    server.intercept = () => undefined
    const end = finished(chat)
    await chat.retry(messageId)
    await end
    expect(chat.store.message(messageId)?.parts).toMatchObject([{ ...local, url: expect.stringContaining('upload:') }])
  })

  test('resends the same body although `data` has changed', async () => {
    let n = 0
    const chat = server.chat({ data: () => ++n })
    server.intercept = route => (isSend(route) ? unavailable() : undefined)
    const { messageId } = await chat.sendMessage('Hello')
    server.intercept = () => undefined
    await chat.retry(messageId)
    expect(new Set(server.bodies('POST /runs').map(body => JSON.stringify(body))).size).toBe(1)
  })
})

describe('stop', () => {
  test('stops all messages in flight, the last first', async () => {
    const chat = server.chat()
    const gate = Promise.withResolvers<undefined>()
    server.intercept = route => (isSend(route) ? (gate.promise as never) : undefined)
    const sent = [chat.sendMessage('Slowly'), chat.sendMessage('Slowly')]
    const stopped = chat.stop()
    gate.resolve(undefined)
    const [one, two] = await Promise.all(sent)
    await stopped
    expect(server.bodies('POST /stop')).toEqual([{ runId: two?.runId }, { runId: one?.runId }])
    await until(chat, () => chat.state.status === 'ready')
  })
})

describe('regenerate, retry and edit', () => {
  test('regenerates a message that was regenerated before', async () => {
    const chat = await chatWith('one', 'two')
    const [one = ''] = chat.store.messageIds
    for (let n = 0; n < 2; n++) {
      const end = finished(chat)
      expect(await chat.regenerate(one)).toEqual({ messageId: one, runId: expect.any(String) })
      await end
      await until(chat, () => chat.state.status === 'ready' && chat.store.messages.length === 2)
    }
    expect(transcript(chat)).toEqual(['user sent: one', 'assistant sent: You said: one'])
    const end = finished(chat)
    expect(await chat.regenerate()).toMatchObject({ messageId: one })
    await end
  })

  test('rejects a message without a turn', async () => {
    const chat = await chatWith('one')
    server.intercept = route => (isSend(route) ? refuse() : undefined)
    const { messageId } = await chat.sendMessage('two')
    for (const id of [messageId, 'unknown']) {
      expect(await chat.regenerate(id)).toMatchObject({ messageId: id, error: { code: 'message_unknown' } })
    }
    expect(await chat.retry('unknown')).toMatchObject({ error: { code: 'message_unknown', source: 'send' } })
    expect(server.bodies('POST /retry')).toEqual([])
  })

  test('regenerates the reply to an older message that was loaded later', async () => {
    const first = await chatWith('one', 'two', 'three')
    const chat = server.chat({ session: first.state.sessionId, pageSize: 2 })
    await until(chat, () => chat.state.hasOlder)
    await chat.loadOlder()
    await chat.loadOlder()
    const [one = ''] = chat.store.messageIds
    const end = finished(chat)
    expect((await chat.regenerate(one)).error).toBeUndefined()
    await end
    await until(chat, () => chat.store.messages.length === 2 && chat.store.messages[1]?.status === 'sent')
    expect(transcript(chat)).toEqual(['user sent: one', 'assistant sent: You said: one'])
  })

  test('keeps a refused edit, which can be retried', async () => {
    const chat = await chatWith('one')
    const [one = ''] = chat.store.messageIds
    server.intercept = route => (route === 'POST /edit' ? refuse() : undefined)
    const { messageId, error } = await chat.edit(one, 'two')
    expect([messageId === one, error?.code]).toEqual([false, 'too_much'])
    expect(transcript(chat).at(-1)).toBe('user error: two')
    server.intercept = () => undefined
    const end = finished(chat)
    expect(await chat.retry(messageId)).toMatchObject({ messageId, runId: expect.any(String) })
    await end
    await until(chat, () => chat.store.messages.length === 2)
    expect(transcript(chat)).toEqual(['user sent: two', 'assistant sent: You said: two'])
    expect(chat.store.messageIds[0]).toBe(messageId)
  })
})

describe('answers', () => {
  test('reports and throws the error of a refused answer', async () => {
    const errors: ChatError[] = []
    const chat = await chatWith('one')
    chat.callbacks = { onError: error => void errors.push(error) }
    await expect(chat.answer({ kind: 'interrupt', id: 'none', response: 1 })).rejects.toMatchObject({
      code: 'answer_unknown',
    })
    expect(errors).toMatchObject([{ source: 'answer', code: 'answer_unknown' }])
  })

  test('rejects the approval of a call that was not shown', async () => {
    const chat = await chatWith('one')
    const answer = chat.answer({ kind: 'approval', id: 'none', approved: true })
    await expect(answer).rejects.toMatchObject({ code: 'answer_unknown' })
    expect(server.bodies('POST /answers')).toEqual([])
  })
})
