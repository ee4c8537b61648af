import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { ChatError } from '../error/chat-error.ts'
import type { ChatData } from '../types/index.ts'
import type { ChatFinish } from './callbacks.ts'
import { finished, InProcessServer, transcript, until } from './in-process-server.fixture.ts'

let server: InProcessServer
beforeEach(() => {
  server = new InProcessServer()
})

const down = () => {
  throw new TypeError('no network')
}

describe('send', () => {
  test('shows a message at once, and the reply when it arrives', async () => {
    const chat = server.chat()
    const end = finished(chat)
    const sent = chat.sendMessage('Hello')
    expect(transcript(chat)).toEqual(['user sending: Hello'])
    expect(chat.state.status).toBe('submitted')
    expect(await sent).toEqual({ messageId: chat.store.messageIds[0], runId: expect.any(String) })
    expect(await end).toMatchObject({
      isAbort: false,
      isDisconnect: false,
      isError: false,
      message: { status: 'sent' },
    })
    expect(transcript(chat)).toEqual(['user sent: Hello', 'assistant sent: You said: Hello'])
    await until(chat, () => chat.state.status === 'ready')
  })

  test('keeps a refused message with a typed error, and can resend it', async () => {
    const errors: ChatError[] = []
    const chat = server.chat({ onError: error => void errors.push(error) })
    server.intercept = route =>
      route === 'POST /runs'
        ? Response.json({ error: { code: 'too_much', message: 'No room.', retryable: false } }, { status: 413 })
        : undefined
    const { messageId, error } = await chat.sendMessage('Hello')
    const expected = { code: 'too_much', message: 'No room.', source: 'send', recoverable: true, retryable: false }
    expect(error).toEqual({ ...expected, details: { messageId } })
    expect(chat.state).toMatchObject({ status: 'error', error: expected })
    expect(errors).toHaveLength(1)
    expect(chat.store.message(messageId)).toMatchObject({ status: 'error', error: { code: 'too_much' } })
    server.intercept = () => undefined
    const end = finished(chat)
    expect(await chat.retry(messageId)).toMatchObject({ messageId })
    await end
    expect(chat.state.error).toBeUndefined()
    expect(transcript(chat)).toEqual(['user sent: Hello', 'assistant sent: You said: Hello'])
  })

  test('retries with the same body after a lost response, and starts one run', async () => {
    const chat = server.chat()
    let isLost = false
    server.intercept = (route, body) => {
      if (route !== 'POST /runs' || isLost) return undefined
      isLost = true
      const url = `http://localhost:4400/api/sessions/${chat.state.sessionId}/runs`
      const headers = { 'content-type': 'application/json', accept: 'application/json' }
      return server.app.fetch(new Request(url, { method: 'POST', headers, body: JSON.stringify(body) })).then(down)
    }
    const end = finished(chat)
    await chat.sendMessage('Hello')
    await end
    const bodies = server.bodies('POST /runs') as { runId: string; messageId: string }[]
    expect(bodies).toHaveLength(2)
    expect(bodies[1]).toEqual(bodies[0])
    expect(chat.store.ledger.runs).toHaveLength(1)
    expect(transcript(chat)).toEqual(['user sent: Hello', 'assistant sent: You said: Hello'])
  })

  test.each(['queue', 'reject', 'interrupt-previous'] as const)(
    'handles a message while a run is open: %s',
    async whenBusy => {
      const chat = server.chat({ whenBusy })
      await chat.sendMessage('Slowly')
      await until(chat, () => chat.state.status === 'streaming')
      const { error } = await chat.sendMessage('Next')
      expect(error?.code).toBe(whenBusy === 'reject' ? 'run_busy' : undefined)
      expect(server.bodies('POST /runs')).toHaveLength(2)
      if (whenBusy === 'interrupt-previous') {
        await until(chat, () => transcript(chat).includes('assistant sent: You said: Next'))
        return
      }
      expect(chat.store.messages.at(-1)?.status).toBe(whenBusy === 'reject' ? 'error' : 'sending')
      await chat.stop()
      if (whenBusy === 'queue') await until(chat, () => transcript(chat).includes('assistant sent: You said: Next'))
    },
  )

  test('shows a queued message in another tab, and removes it in both when it is stopped', async () => {
    const one = server.chat()
    await one.sendMessage('Slowly')
    await until(one, () => one.state.status === 'streaming')
    const other = server.chat({ session: one.state.sessionId })
    const { runId } = await one.sendMessage('Next')
    await until(other, () => transcript(other).includes('user sending: Next'))
    await other.stop({ runId: runId as string })
    for (const chat of [one, other]) await until(chat, () => !transcript(chat).includes('user sending: Next'))
    await other.stop()
    await until(one, () => one.state.status === 'ready')
    expect(one.store.messages.at(-1)?.status).toBe('cancelled')
  })

  test('uploads files before it sends the message', async () => {
    const chat = server.chat()
    const end = finished(chat)
    await chat.sendMessage({ text: 'Look', files: [new File(['abc'], 'a b.txt', { type: 'text/plain' })] })
    await end
    expect(chat.store.messages[0]?.parts).toMatchObject([
      { type: 'text', text: 'Look' },
      { type: 'file', mediaType: 'text/plain', filename: 'a b.txt', url: expect.any(String) },
    ])
  })
})

describe('stop', () => {
  test('stops the run on the server', async () => {
    const chat = server.chat()
    const end = finished(chat)
    await chat.sendMessage('Slowly')
    await until(chat, () => chat.state.status === 'streaming')
    await chat.stop()
    expect(await end).toMatchObject({ isAbort: true, isError: false })
  })

  test('stops a message in flight as soon as the server has it', async () => {
    const chat = server.chat()
    const end = finished(chat)
    const gate = Promise.withResolvers<undefined>()
    server.intercept = route => (route === 'POST /runs' ? (gate.promise as never) : undefined)
    const sent = chat.sendMessage('Slowly')
    const stopped = chat.stop()
    gate.resolve(undefined)
    await Promise.all([sent, stopped])
    expect(server.requests.map(({ route }) => route).filter(route => route.startsWith('POST'))).toEqual([
      'POST /runs',
      'POST /stop',
    ])
    await Promise.race([end, until(chat, () => chat.store.ledger.requests.every(({ status }) => status === 'removed'))])
  })

  test('sends no request if there is nothing to stop', async () => {
    await server.chat().stop()
    expect(server.bodies('POST /stop')).toEqual([])
  })
})

describe('regenerate, retry and edit', () => {
  test('replaces the earlier messages', async () => {
    const chat = server.chat()
    const after = async (action: () => Promise<unknown>) => {
      const end = finished(chat)
      await action()
      await end
      await until(chat, () => chat.state.status === 'ready' && chat.store.messages.length === 2)
      return transcript(chat)
    }
    const first = await after(() => chat.sendMessage('Hello'))
    expect(await after(() => chat.regenerate())).toEqual(first)
    expect(await after(() => chat.retry(chat.store.messageIds[1]))).toEqual(first)
    expect(await after(() => chat.edit(chat.store.messageIds[0] as string, 'Bye'))).toEqual([
      'user sent: Bye',
      'assistant sent: You said: Bye',
    ])
    expect(chat.store.ledger.runs).toHaveLength(4)
  })

  test('returns an error and does not throw', async () => {
    const chat = server.chat()
    const end = finished(chat)
    await chat.sendMessage('Hello')
    await end
    const { error, messageId } = await chat.edit('unknown', 'Bye')
    expect([error?.code, chat.state.error]).toEqual(['run_unknown', error])
    // The text is not lost.
    expect(chat.store.message(messageId)).toMatchObject({ status: 'error', parts: [{ text: 'Bye' }] })
    chat.clearError()
    expect(chat.state).toMatchObject({ error: undefined, status: 'ready' })
  })
})

describe('answers', () => {
  test.each([true, false])('sends an approval (%s) with the input that was shown', async approved => {
    const calls: string[] = []
    const chat = server.chat({ onToolCall: ({ toolCall }) => void calls.push(toolCall.state) })
    await chat.sendMessage('Sell')
    await until(chat, () => chat.store.pendings.length > 0 && chat.state.status === 'paused')
    const end = finished(chat)
    await chat.answer({ kind: 'approval', id: chat.store.pendings[0]?.id as string, approved })
    await end
    expect(server.bodies('POST /answers')).toMatchObject([{ kind: 'approval', approved, input: { what: 'flour' } }])
    expect(calls).toEqual([
      'input-streaming',
      'input-available',
      'approval-requested',
      ...(approved ? ['approval-responded', 'output-available'] : ['approval-responded', 'output-denied']),
    ])
  })

  test('throws the reason of a refused answer', async () => {
    const chat = server.chat()
    const end = finished(chat)
    await chat.sendMessage('Hello')
    await end
    const answer = chat.answer({ kind: 'tool-result', id: 'none', output: 1 })
    await expect(answer).rejects.toMatchObject({ code: 'answer_unknown' })
  })

  test('runs a client tool in one of two tabs, with its full input', async () => {
    const inputs: unknown[] = []
    const tools = {
      locate: async (input: { near: string }) => {
        inputs.push(input.near.length)
        return { city: 'Ulm' }
      },
    }
    const one = server.chat({ tools })
    const end = finished(one)
    await one.sendMessage('Where am I, in many words?')
    server.chat({ tools, session: one.state.sessionId })
    await end
    expect(inputs).toEqual([100_000])
    expect(transcript(one).at(-1)).toBe('assistant sent: Well.So be it.')
  })

  test('sends the error of a tool to the model', async () => {
    const tools = {
      locate: () => {
        throw new Error('lost')
      },
    }
    const chat = server.chat({ tools })
    const end = finished(chat)
    await chat.sendMessage('Where')
    await end
    expect(server.bodies('POST /answers')).toMatchObject([{ kind: 'claim' }, { kind: 'tool-result', error: 'lost' }])
    const part = chat.store.messages[1]?.parts.find(({ type }) => type === 'tool')
    expect(part).toMatchObject({ state: 'output-error', errorText: 'lost' })
  })

  test('aborts a client tool when its run is stopped', async () => {
    const aborted = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    const tools = {
      locate: (_: unknown, { signal }: { signal: AbortSignal }) => {
        started.resolve()
        signal.addEventListener('abort', () => aborted.resolve())
        return aborted.promise
      },
    }
    const chat = server.chat({ tools })
    await chat.sendMessage('Where')
    await started.promise
    await chat.stop()
    await aborted.promise
    expect(server.bodies('POST /answers')).toHaveLength(1)
  })
})

describe('existing sessions', () => {
  test('starts from a snapshot, reports nothing from before it, and loads older messages', async () => {
    const first = server.chat()
    const session = first.state.sessionId as string
    for (const word of ['one', 'two', 'three']) {
      const end = finished(first)
      await first.sendMessage(word)
      await end
    }
    const finishes: ChatFinish[] = []
    const data: ChatData[] = []
    const second = server.chat({
      session,
      pageSize: 2,
      onFinish: finish => void finishes.push(finish),
      onData: one => void data.push(one),
    })
    await until(second, () => second.state.connection.status === 'live')
    expect(transcript(second)).toEqual(['user sent: three', 'assistant sent: You said: three'])
    expect(second.state.hasOlder).toBe(true)
    await Promise.all([second.loadOlder(), second.loadOlder()])
    expect(transcript(second)).toHaveLength(4)
    await second.loadOlder()
    expect(transcript(second)).toEqual(transcript(first))
    expect(second.state.hasOlder).toBe(false)
    expect(finishes).toEqual([])
    // A rewind takes a snapshot of the last messages: those before it stay.
    const end = finished(second)
    await second.regenerate()
    await end
    await until(second, () => transcript(second).length === 6 && second.state.status === 'ready')
    expect(transcript(second)).toEqual(transcript(first))
  })

  test('starts from a given snapshot without a request for one', async () => {
    const first = server.chat()
    const session = first.state.sessionId as string
    const end = finished(first)
    await first.sendMessage('Hello')
    await end
    const url = `http://localhost:4400/api/sessions/${session}`
    const snapshot = await (await server.app.fetch(new Request(url))).json()
    const second = server.chat({ session, snapshot })
    expect(transcript(second)).toEqual(transcript(first))
    await until(second, () => second.state.connection.status === 'live')
    expect(server.requests.filter(({ route }) => route === 'GET ')).toEqual([])
  })

  test('reports a run that finished while the chat was not connected', async () => {
    const other = server.chat()
    const session = other.state.sessionId as string
    const end = finished(other)
    await other.sendMessage('Hello')
    await end
    const chat = server.chat({ session })
    await until(chat, () => chat.state.connection.status === 'live')
    const reported = finished(chat)
    // Its cursor belongs to a log that no longer exists.
    await server.app.fetch(new Request(`http://localhost:4400/api/sessions/${session}`, { method: 'DELETE' }))
    const again = finished(other)
    await until(other, () => other.state.error !== undefined)
    await other.sendMessage('Anew')
    await again
    await until(chat, () => chat.state.error !== undefined)
    await chat.sendMessage('And I')
    expect((await reported).messages.length).toBeGreaterThan(0)
    await until(chat, () => transcript(chat).includes('assistant sent: You said: And I'))
    expect(transcript(chat)[0]).toBe('user sent: Anew')
  })
})

test('survives callbacks that throw, and callbacks can be replaced', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  const broken = () => {
    throw new Error('broken')
  }
  const chat = server.chat({ onFinish: broken, onError: broken, onToolCall: async () => broken(), onData: broken })
  await chat.sendMessage('Hello')
  await until(chat, () => transcript(chat).includes('assistant sent: You said: Hello') && chat.state.status === 'ready')
  expect(logged).toHaveBeenCalled()
  logged.mockRestore()
  const end = finished(chat)
  await chat.sendMessage('Again')
  await end
})

test('reports a lost connection once as recovered, and does not finish the run', async () => {
  const errors: ChatError[] = []
  const finishes: ChatFinish[] = []
  const chat = server.chat({ onError: error => void errors.push(error), onFinish: end => void finishes.push(end) })
  await chat.sendMessage('Slowly')
  await until(chat, () => chat.state.status === 'streaming' && chat.state.connection.status === 'live')
  let n = 0
  server.intercept = route => (route.endsWith('/stream') && n++ < 3 ? down() : undefined)
  server.cutStreams()
  await until(chat, () => chat.state.connection.status === 'offline')
  expect([chat.state.status, errors, finishes]).toEqual(['streaming', [], []])
  await until(chat, () => chat.state.connection.status === 'live')
  await chat.stop()
  await until(chat, () => chat.state.status === 'ready')
  expect(n).toBeGreaterThan(3)
  expect(errors).toMatchObject([
    { code: 'disconnected', source: 'stream', recoverable: true, details: { recovered: true } },
  ])
  expect(finishes).toMatchObject([{ isAbort: true, isDisconnect: false }])
})
