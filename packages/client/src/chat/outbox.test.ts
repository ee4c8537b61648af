import { beforeEach, describe, expect, test } from 'vitest'
import { createConnection } from '../connection/page-connection.ts'
import type { ChatError } from '../error/chat-error.ts'
import { finished, Mill, shown, until } from './chat-mill.fixture.ts'
import { HttpChat } from './http-chat.ts'

let mill: Mill
beforeEach(() => {
  mill = new Mill()
})

const refuse = (code = 'too_much', status = 413) =>
  Response.json({ error: { code, message: 'No.', retryable: false } }, { status })

const said = (what: string) => what === 'POST /runs'

/** A chat in which these were said and answered. */
async function chatWith(...words: string[]): Promise<HttpChat> {
  const chat = mill.chat()
  for (const word of words) {
    const end = finished(chat)
    await chat.sendMessage(word)
    await end
  }
  return chat
}

/** All replies to sends are lost, but the server does what they say; then something else may happen first. */
function loseReplies(chat: HttpChat, then?: () => Promise<void>): void {
  mill.meddle = async (what, body) => {
    if (!said(what)) return undefined as never
    const url = `http://localhost:4400/api/sessions/${chat.state.sessionId}/runs`
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    await mill.app.fetch(new Request(url, { method: 'POST', headers, body: JSON.stringify(body) }))
    await then?.()
    return LATER()
  }
}

/** No use in trying again at once. */
const LATER = () => new Response('', { status: 504, headers: { 'retry-after': '600' } })

describe('sends', () => {
  test('none overtakes another, however long it takes', async () => {
    const chat = mill.chat()
    let n = 0
    mill.meddle = what => (said(what) && n++ === 0 ? new Response('', { status: 503 }) : undefined)
    await Promise.all([chat.sendMessage('one'), chat.sendMessage('two')])
    const texts = mill.bodies('POST /runs').map(body => (body as { input: { parts: { text: string }[] } }).input)
    expect(texts.map(({ parts }) => parts[0]?.text)).toEqual(['one', 'one', 'two'])
    await until(chat, () => shown(chat).includes('assistant sent: You said: two'))
    expect(shown(chat).filter(line => line.startsWith('user'))).toEqual(['user sent: one', 'user sent: two'])
  })

  test('one that got there though all replies were lost is followed, and is no error any more', async () => {
    const chat = mill.chat()
    loseReplies(chat)
    const end = finished(chat)
    const { messageId, error } = await chat.sendMessage('Hello')
    expect([error?.code, chat.state.error, shown(chat)]).toEqual(['http_504', error, ['user error: Hello']])
    await end
    await until(chat, () => chat.state.status === 'ready')
    expect([chat.state.error, chat.store.message(messageId)?.status]).toEqual([undefined, 'sent'])
  })

  test('one that is seen in the log is sent, whatever becomes of the replies', async () => {
    const chat = await chatWith('Hello')
    const errors: ChatError[] = []
    chat.callbacks = { onError: error => void errors.push(error) }
    loseReplies(chat, () => until(chat, () => shown(chat).includes('assistant sent: You said: Again')))
    expect(await chat.sendMessage('Again')).toMatchObject({ runId: expect.any(String) })
    expect([errors, chat.state.error]).toEqual([[], undefined])
  })

  test('without a start it is followed for as long as it takes', async () => {
    const connection = createConnection({ api: 'http://localhost:4400/api', fetch: mill.fetch })
    const chat = new HttpChat({ agent: 'echo', connection, streamFlushInterval: 0 })
    for (const word of ['one', 'two']) {
      const end = finished(chat)
      await chat.sendMessage(word)
      await end
      expect(shown(chat).at(-1)).toBe(`assistant sent: You said: ${word}`)
      await until(chat, () => chat.state.connection.status === 'idle')
      expect([chat.state.status, connection.size]).toEqual(['ready', 0])
    }
  })

  test('whoever starts a chat that follows by itself has it to leave', async () => {
    const connection = createConnection({ api: 'http://localhost:4400/api', fetch: mill.fetch })
    const chat = new HttpChat({ agent: 'echo', connection, streamFlushInterval: 0 })
    await chat.sendMessage('Slowly')
    await until(chat, () => chat.state.status === 'streaming')
    const leave = chat.start()
    expect(connection.size).toBe(1)
    await chat.stop()
    leave()
    expect(connection.size).toBe(0)
  })

  test('one whose session was deleted before anything was seen of it is an error, and can be sent again', async () => {
    const chat = mill.chat()
    const url = `http://localhost:4400/api/sessions/${chat.state.sessionId}`
    let isGone = false
    mill.meddle = async what => {
      if (!what.endsWith('/stream') || isGone) return undefined as never
      isGone = true
      await mill.app.fetch(new Request(url, { method: 'DELETE' }))
      return undefined as never
    }
    const { messageId } = await chat.sendMessage('Hello')
    await until(chat, () => chat.state.status === 'error')
    expect(chat.store.message(messageId)).toMatchObject({ status: 'error', error: { code: 'session_unknown' } })
    const end = finished(chat)
    await chat.retry(messageId)
    await end
    expect(shown(chat)).toEqual(['user sent: Hello', 'assistant sent: You said: Hello'])
  })

  test('files are shown while they are on their way, and are there when it is sent again', async () => {
    const chat = mill.chat()
    const file = new File(['abc'], 'a.txt', { type: 'text/plain' })
    mill.meddle = what => (said(what) ? refuse() : undefined)
    const sent = chat.sendMessage({ files: [file].values() })
    const local = { type: 'file', filename: 'a.txt', mediaType: 'text/plain', url: expect.stringMatching(/^blob:/) }
    expect(chat.store.messages).toMatchObject([{ status: 'sending', parts: [local] }])
    const { messageId } = await sent
    mill.meddle = () => undefined
    const end = finished(chat)
    await chat.retry(messageId)
    await end
    expect(chat.store.message(messageId)?.parts).toMatchObject([{ ...local, url: expect.stringContaining('upload:') }])
  })

  test('what is asked for again is the same, whatever its data have become', async () => {
    let n = 0
    const chat = mill.chat({ data: () => ++n })
    mill.meddle = what => (said(what) ? LATER() : undefined)
    const { messageId } = await chat.sendMessage('Hello')
    mill.meddle = () => undefined
    await chat.retry(messageId)
    expect(new Set(mill.bodies('POST /runs').map(body => JSON.stringify(body))).size).toBe(1)
  })
})

describe('stop', () => {
  test('stops all that is on its way', async () => {
    const chat = mill.chat()
    const gate = Promise.withResolvers<undefined>()
    mill.meddle = what => (said(what) ? (gate.promise as never) : undefined)
    const sent = [chat.sendMessage('Slowly'), chat.sendMessage('Slowly')]
    const stopped = chat.stop()
    gate.resolve(undefined)
    const [one, two] = await Promise.all(sent)
    await stopped
    expect(mill.bodies('POST /stop')).toEqual([{ runId: two?.runId }, { runId: one?.runId }])
    await until(chat, () => chat.state.status === 'ready')
  })
})

describe('again', () => {
  test('a turn is that of its message, also when it was done again before', async () => {
    const chat = await chatWith('one', 'two')
    const [one = ''] = chat.store.messageIds
    for (let n = 0; n < 2; n++) {
      const end = finished(chat)
      expect(await chat.regenerate(one)).toEqual({ messageId: one, runId: expect.any(String) })
      await end
      await until(chat, () => chat.state.status === 'ready' && chat.store.messages.length === 2)
    }
    expect(shown(chat)).toEqual(['user sent: one', 'assistant sent: You said: one'])
    const end = finished(chat)
    expect(await chat.regenerate()).toMatchObject({ messageId: one })
    await end
  })

  test('of what is no turn nothing is done', async () => {
    const chat = await chatWith('one')
    mill.meddle = what => (said(what) ? refuse() : undefined)
    const { messageId } = await chat.sendMessage('two')
    for (const id of [messageId, 'nobody']) {
      expect(await chat.regenerate(id)).toMatchObject({ messageId: id, error: { code: 'message_unknown' } })
    }
    expect(await chat.retry('nobody')).toMatchObject({ error: { code: 'message_unknown', source: 'send' } })
    expect(mill.bodies('POST /retry')).toEqual([])
  })

  test('a message of before what was read is answered anew, too', async () => {
    const first = await chatWith('one', 'two', 'three')
    const chat = mill.chat({ session: first.state.sessionId, pageSize: 2 })
    await until(chat, () => chat.state.hasOlder)
    await chat.loadOlder()
    await chat.loadOlder()
    const [one = ''] = chat.store.messageIds
    const end = finished(chat)
    expect((await chat.regenerate(one)).error).toBeUndefined()
    await end
    await until(chat, () => chat.store.messages.length === 2 && chat.store.messages[1]?.status === 'sent')
    expect(shown(chat)).toEqual(['user sent: one', 'assistant sent: You said: one'])
  })

  test('what could not be put in the place of another stays, and can be again', async () => {
    const chat = await chatWith('one')
    const [one = ''] = chat.store.messageIds
    mill.meddle = what => (what === 'POST /edit' ? refuse() : undefined)
    const { messageId, error } = await chat.edit(one, 'two')
    expect([messageId === one, error?.code]).toEqual([false, 'too_much'])
    expect(shown(chat).at(-1)).toBe('user error: two')
    mill.meddle = () => undefined
    const end = finished(chat)
    expect(await chat.retry(messageId)).toMatchObject({ messageId, runId: expect.any(String) })
    await end
    await until(chat, () => chat.store.messages.length === 2)
    expect(shown(chat)).toEqual(['user sent: two', 'assistant sent: You said: two'])
    expect(chat.store.messageIds[0]).toBe(messageId)
  })
})

describe('answers', () => {
  test('one that is refused is told, and thrown', async () => {
    const errors: ChatError[] = []
    const chat = await chatWith('one')
    chat.callbacks = { onError: error => void errors.push(error) }
    await expect(chat.answer({ kind: 'interrupt', id: 'none', response: 1 })).rejects.toMatchObject({
      code: 'answer_unknown',
    })
    expect(errors).toMatchObject([{ source: 'answer', code: 'answer_unknown' }])
  })

  test('nobody approves what was not shown', async () => {
    const chat = await chatWith('one')
    const answer = chat.answer({ kind: 'approval', id: 'none', approved: true })
    await expect(answer).rejects.toMatchObject({ code: 'answer_unknown' })
    expect(mill.bodies('POST /answers')).toEqual([])
  })
})
