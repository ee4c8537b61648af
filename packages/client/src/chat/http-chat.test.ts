import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { ChatError } from '../error/chat-error.ts'
import type { ChatData } from '../types/index.ts'
import type { ChatFinish } from './callbacks.ts'
import { finished, Mill, shown, until } from './chat-mill.fixture.ts'

let mill: Mill
beforeEach(() => {
  mill = new Mill()
})

const down = () => {
  throw new TypeError('no network')
}

describe('send', () => {
  test('a message is shown at once, and its answer when it comes', async () => {
    const chat = mill.chat()
    const end = finished(chat)
    const sent = chat.sendMessage('Hello')
    expect(shown(chat)).toEqual(['user sending: Hello'])
    expect(chat.state.status).toBe('submitted')
    expect(await sent).toEqual({ messageId: chat.store.messageIds[0], runId: expect.any(String) })
    expect(await end).toMatchObject({
      isAbort: false,
      isDisconnect: false,
      isError: false,
      message: { status: 'sent' },
    })
    expect(shown(chat)).toEqual(['user sent: Hello', 'assistant sent: You said: Hello'])
    await until(chat, () => chat.state.status === 'ready')
  })

  test('one that is refused stays, with a typed error, and can be sent again', async () => {
    const errors: ChatError[] = []
    const chat = mill.chat({ onError: error => void errors.push(error) })
    mill.meddle = what =>
      what === 'POST /runs'
        ? Response.json({ error: { code: 'too_much', message: 'No room.', retryable: false } }, { status: 413 })
        : undefined
    const { messageId, error } = await chat.sendMessage('Hello')
    const told = { code: 'too_much', message: 'No room.', source: 'send', recoverable: true, retryable: false }
    expect(error).toEqual({ ...told, details: { messageId } })
    expect(chat.state).toMatchObject({ status: 'error', error: told })
    expect(errors).toHaveLength(1)
    expect(chat.store.message(messageId)).toMatchObject({ status: 'error', error: { code: 'too_much' } })
    mill.meddle = () => undefined
    const end = finished(chat)
    expect(await chat.retry(messageId)).toMatchObject({ messageId })
    await end
    expect(chat.state.error).toBeUndefined()
    expect(shown(chat)).toEqual(['user sent: Hello', 'assistant sent: You said: Hello'])
  })

  test('one whose reply is lost is sent again as the same: the server has one run', async () => {
    const chat = mill.chat()
    let isLost = false
    mill.meddle = (what, body) => {
      if (what !== 'POST /runs' || isLost) return undefined
      isLost = true
      const url = `http://localhost:4400/api/sessions/${chat.state.sessionId}/runs`
      const headers = { 'content-type': 'application/json', accept: 'application/json' }
      return mill.app.fetch(new Request(url, { method: 'POST', headers, body: JSON.stringify(body) })).then(down)
    }
    const end = finished(chat)
    await chat.sendMessage('Hello')
    await end
    const bodies = mill.bodies('POST /runs') as { runId: string; messageId: string }[]
    expect(bodies).toHaveLength(2)
    expect(bodies[1]).toEqual(bodies[0])
    expect(chat.store.ledger.runs).toHaveLength(1)
    expect(shown(chat)).toEqual(['user sent: Hello', 'assistant sent: You said: Hello'])
  })

  test.each(['queue', 'reject', 'interrupt-previous'] as const)('while a run is open: %s', async whenBusy => {
    const chat = mill.chat({ whenBusy })
    await chat.sendMessage('Slowly')
    await until(chat, () => chat.state.status === 'streaming')
    const { error } = await chat.sendMessage('Next')
    expect(error?.code).toBe(whenBusy === 'reject' ? 'run_busy' : undefined)
    expect(mill.bodies('POST /runs')).toHaveLength(2)
    if (whenBusy === 'interrupt-previous') {
      await until(chat, () => shown(chat).includes('assistant sent: You said: Next'))
      return
    }
    expect(chat.store.messages.at(-1)?.status).toBe(whenBusy === 'reject' ? 'error' : 'sending')
    await chat.stop()
    if (whenBusy === 'queue') await until(chat, () => shown(chat).includes('assistant sent: You said: Next'))
  })

  test('what waits is seen in another tab, and gone in both when it is stopped', async () => {
    const one = mill.chat()
    await one.sendMessage('Slowly')
    await until(one, () => one.state.status === 'streaming')
    const other = mill.chat({ session: one.state.sessionId })
    const { runId } = await one.sendMessage('Next')
    await until(other, () => shown(other).includes('user sending: Next'))
    await other.stop({ runId: runId as string })
    for (const chat of [one, other]) await until(chat, () => !shown(chat).includes('user sending: Next'))
    await other.stop()
    await until(one, () => one.state.status === 'ready')
    expect(one.store.messages.at(-1)?.status).toBe('cancelled')
  })

  test('files are given to the server first', async () => {
    const chat = mill.chat()
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
  test('reaches the server, and what was said stays', async () => {
    const chat = mill.chat()
    const end = finished(chat)
    await chat.sendMessage('Slowly')
    await until(chat, () => chat.state.status === 'streaming')
    await chat.stop()
    expect(await end).toMatchObject({ isAbort: true, isError: false })
  })

  test('while it is sent: stops it as soon as it is there', async () => {
    const chat = mill.chat()
    const end = finished(chat)
    const gate = Promise.withResolvers<undefined>()
    mill.meddle = what => (what === 'POST /runs' ? (gate.promise as never) : undefined)
    const sent = chat.sendMessage('Slowly')
    const stopped = chat.stop()
    gate.resolve(undefined)
    await Promise.all([sent, stopped])
    expect(mill.asked.map(({ what }) => what).filter(what => what.startsWith('POST'))).toEqual([
      'POST /runs',
      'POST /stop',
    ])
    await Promise.race([end, until(chat, () => chat.store.ledger.requests.every(({ status }) => status === 'removed'))])
  })

  test('with nothing to stop asks nobody', async () => {
    await mill.chat().stop()
    expect(mill.bodies('POST /stop')).toEqual([])
  })
})

describe('again', () => {
  test('regenerate, retry and edit take the place of what was there', async () => {
    const chat = mill.chat()
    const said = async (deed: () => Promise<unknown>) => {
      const end = finished(chat)
      await deed()
      await end
      await until(chat, () => chat.state.status === 'ready' && chat.store.messages.length === 2)
      return shown(chat)
    }
    const first = await said(() => chat.sendMessage('Hello'))
    expect(await said(() => chat.regenerate())).toEqual(first)
    expect(await said(() => chat.retry(chat.store.messageIds[1]))).toEqual(first)
    expect(await said(() => chat.edit(chat.store.messageIds[0] as string, 'Bye'))).toEqual([
      'user sent: Bye',
      'assistant sent: You said: Bye',
    ])
    expect(chat.store.ledger.runs).toHaveLength(4)
  })

  test('what cannot be done is an error, not a throw', async () => {
    const chat = mill.chat()
    const end = finished(chat)
    await chat.sendMessage('Hello')
    await end
    const { error, messageId } = await chat.edit('nobody', 'Bye')
    expect([error?.code, chat.state.error]).toEqual(['run_unknown', error])
    // Nobody has to say it again.
    expect(chat.store.message(messageId)).toMatchObject({ status: 'error', parts: [{ text: 'Bye' }] })
    chat.clearError()
    expect(chat.state).toMatchObject({ error: undefined, status: 'ready' })
  })
})

describe('answers', () => {
  test.each([true, false])('an approval (%s) carries what was shown', async approved => {
    const calls: string[] = []
    const chat = mill.chat({ onToolCall: ({ toolCall }) => void calls.push(toolCall.state) })
    await chat.sendMessage('Sell')
    await until(chat, () => chat.store.pendings.length > 0 && chat.state.status === 'paused')
    const end = finished(chat)
    await chat.answer({ kind: 'approval', id: chat.store.pendings[0]?.id as string, approved })
    await end
    expect(mill.bodies('POST /answers')).toMatchObject([{ kind: 'approval', approved, input: { what: 'flour' } }])
    expect(calls).toEqual([
      'input-streaming',
      'input-available',
      'approval-requested',
      ...(approved ? ['approval-responded', 'output-available'] : ['approval-responded', 'output-denied']),
    ])
  })

  test('an answer that is refused throws why', async () => {
    const chat = mill.chat()
    const end = finished(chat)
    await chat.sendMessage('Hello')
    await end
    const answer = chat.answer({ kind: 'tool-result', id: 'none', output: 1 })
    await expect(answer).rejects.toMatchObject({ code: 'answer_unknown' })
  })

  test('a client’s tool runs in one of two tabs, with its whole input', async () => {
    const inputs: unknown[] = []
    const tools = {
      locate: async (input: { near: string }) => {
        inputs.push(input.near.length)
        return { city: 'Ulm' }
      },
    }
    const one = mill.chat({ tools })
    const end = finished(one)
    await one.sendMessage('Where am I, in many words?')
    mill.chat({ tools, session: one.state.sessionId })
    await end
    expect(inputs).toEqual([100_000])
    expect(shown(one).at(-1)).toBe('assistant sent: Well.So be it.')
  })

  test('what a tool throws is told to the model', async () => {
    const tools = {
      locate: () => {
        throw new Error('lost')
      },
    }
    const chat = mill.chat({ tools })
    const end = finished(chat)
    await chat.sendMessage('Where')
    await end
    expect(mill.bodies('POST /answers')).toMatchObject([{ kind: 'claim' }, { kind: 'tool-result', error: 'lost' }])
    const part = chat.store.messages[1]?.parts.find(({ type }) => type === 'tool')
    expect(part).toMatchObject({ state: 'output-error', errorText: 'lost' })
  })

  test('a call that was stopped, or whose tab is left, is told so', async () => {
    const aborted = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const tools = {
      locate: (_: unknown, { signal }: { signal: AbortSignal }) => {
        begun.resolve()
        signal.addEventListener('abort', () => aborted.resolve())
        return aborted.promise
      },
    }
    const chat = mill.chat({ tools })
    await chat.sendMessage('Where')
    await begun.promise
    await chat.stop()
    await aborted.promise
    expect(mill.bodies('POST /answers')).toHaveLength(1)
  })
})

describe('what is there already', () => {
  test('begins with a snapshot, tells nothing of what lies before it, and shows older messages', async () => {
    const first = mill.chat()
    const session = first.state.sessionId as string
    for (const word of ['one', 'two', 'three']) {
      const end = finished(first)
      await first.sendMessage(word)
      await end
    }
    const finishes: ChatFinish[] = []
    const data: ChatData[] = []
    const second = mill.chat({
      session,
      pageSize: 2,
      onFinish: finish => void finishes.push(finish),
      onData: one => void data.push(one),
    })
    await until(second, () => second.state.connection.status === 'live')
    expect(shown(second)).toEqual(['user sent: three', 'assistant sent: You said: three'])
    expect(second.state.hasOlder).toBe(true)
    await Promise.all([second.loadOlder(), second.loadOlder()])
    expect(shown(second)).toHaveLength(4)
    await second.loadOlder()
    expect(shown(second)).toEqual(shown(first))
    expect(second.state.hasOlder).toBe(false)
    expect(finishes).toEqual([])
    // A rewind takes a snapshot of the last messages: those before it stay.
    const end = finished(second)
    await second.regenerate()
    await end
    await until(second, () => shown(second).length === 6 && second.state.status === 'ready')
    expect(shown(second)).toEqual(shown(first))
  })

  test('can be given a snapshot, and follows from there', async () => {
    const first = mill.chat()
    const session = first.state.sessionId as string
    const end = finished(first)
    await first.sendMessage('Hello')
    await end
    const url = `http://localhost:4400/api/sessions/${session}`
    const snapshot = await (await mill.app.fetch(new Request(url))).json()
    const second = mill.chat({ session, snapshot })
    expect(shown(second)).toEqual(shown(first))
    await until(second, () => second.state.connection.status === 'live')
    expect(mill.asked.filter(({ what }) => what === 'GET ')).toEqual([])
  })

  test('a run that ended while one was away is told of when one is back', async () => {
    const other = mill.chat()
    const session = other.state.sessionId as string
    const end = finished(other)
    await other.sendMessage('Hello')
    await end
    const chat = mill.chat({ session })
    await until(chat, () => chat.state.connection.status === 'live')
    const told = finished(chat)
    // The place that it has is of a log that is no more.
    await mill.app.fetch(new Request(`http://localhost:4400/api/sessions/${session}`, { method: 'DELETE' }))
    const again = finished(other)
    await until(other, () => other.state.error !== undefined)
    await other.sendMessage('Anew')
    await again
    await until(chat, () => chat.state.error !== undefined)
    await chat.sendMessage('And I')
    expect((await told).messages.length).toBeGreaterThan(0)
    await until(chat, () => shown(chat).includes('assistant sent: You said: And I'))
    expect(shown(chat)[0]).toBe('user sent: Anew')
  })
})

test('a callback that throws harms nothing, and all may be replaced', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
  const broken = () => {
    throw new Error('broken')
  }
  const chat = mill.chat({ onFinish: broken, onError: broken, onToolCall: async () => broken(), onData: broken })
  await chat.sendMessage('Hello')
  await until(chat, () => shown(chat).includes('assistant sent: You said: Hello') && chat.state.status === 'ready')
  expect(printed).toHaveBeenCalled()
  printed.mockRestore()
  const end = finished(chat)
  await chat.sendMessage('Again')
  await end
})

test('a lost connection is reported once, as recovered, and nothing ends by it', async () => {
  const errors: ChatError[] = []
  const finishes: ChatFinish[] = []
  const chat = mill.chat({ onError: error => void errors.push(error), onFinish: end => void finishes.push(end) })
  await chat.sendMessage('Slowly')
  await until(chat, () => chat.state.status === 'streaming' && chat.state.connection.status === 'live')
  let n = 0
  mill.meddle = what => (what.endsWith('/stream') && n++ < 3 ? down() : undefined)
  mill.cut()
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
