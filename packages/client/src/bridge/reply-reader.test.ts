// Streams that drop at every position, by closing or failing, with and without a way to resume.

import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { chatOver, controlled, hello, streamOf } from './chat.fixture.ts'
import type { ChatAdapter, ChatMessageChunk } from './types.ts'

const runs = (n: number) => ({ numRuns: multiplied(n) })

const TEXT = 'Whatever happens to the network, a person sees the right words, once.'
const words = TEXT.match(/\S+\s*/g) as string[]
const reply: readonly ChatMessageChunk[] = [
  { type: 'start', messageId: 'a1' },
  { type: 'reasoning-start', id: 'r' },
  { type: 'reasoning-delta', id: 'r', delta: 'Hm.' },
  { type: 'reasoning-end', id: 'r' },
  { type: 'text-start', id: 't' },
  ...words.map(delta => ({ type: 'text-delta' as const, id: 't', delta })),
  { type: 'text-end', id: 't' },
  { type: 'tool-input-available', toolCallId: 'c', toolName: 'look', input: {} },
  { type: 'tool-output-available', toolCallId: 'c', output: 1 },
  { type: 'finish', messageId: 'a1' },
]

type Resume = (from: number) => readonly unknown[]
const enveloped = reply.map((chunk, i) => ({ eventId: `e${i}`, sequence: i, chunk }))
/** Ways to resume a reply: the first stream, and the rest from a position. */
const ways: { readonly [name: string]: { readonly first: readonly unknown[]; readonly rest: Resume } } = {
  'the rest, raw': { first: reply, rest: from => reply.slice(from) },
  'start, and the rest, raw': { first: reply, rest: from => [reply[0], ...reply.slice(from)] },
  'all again, raw': { first: reply, rest: () => reply },
  'the rest, in envelopes': { first: enveloped, rest: from => enveloped.slice(from) },
  'all again, in envelopes': { first: enveloped, rest: () => enveloped },
  'a little before, in envelopes': { first: enveloped, rest: from => enveloped.slice(Math.max(0, from - 3)) },
  'all again, by sequence': {
    first: enveloped.map(({ sequence, chunk }) => ({ sequence, chunk })),
    rest: () => enveloped.map(({ sequence, chunk }) => ({ sequence, chunk })),
  },
  'all again, by event': {
    first: enveloped.map(({ eventId, chunk }) => ({ eventId, chunk })),
    rest: () => enveloped.map(({ eventId, chunk }) => ({ eventId, chunk })),
  },
}

/** Reads a reply with streams that are cut after these numbers of values. Checks at every change that the text is a prefix, in one part. */
async function read(first: readonly unknown[], rest: Resume | undefined, cuts: readonly number[], error?: unknown) {
  let at = 0
  let attempt = 0
  const next = (values: readonly unknown[]) => {
    const cut = cuts[attempt++] ?? values.length
    const newValues = values.slice(0, cut)
    at = Math.max(at, first.length - values.length + newValues.length)
    return newValues.length < values.length ? streamOf(newValues, error) : streamOf(newValues)
  }
  const adapter: ChatAdapter = {
    sendMessage: async () => next(first),
    ...(rest && { reconnectToStream: async () => next(rest(at)) }),
  }
  const talk = chatOver(adapter)
  const texts: string[] = []
  const statuses: string[] = []
  const checkText = () => {
    const message = talk.chat.store.messages[1]
    const shown = message?.parts.filter(part => part.type === 'text') ?? []
    expect(shown.length).toBeLessThanOrEqual(1)
    texts.push((shown[0] as { text: string } | undefined)?.text ?? '')
    if (message && message.status !== statuses.at(-1)) statuses.push(message.status)
  }
  talk.chat.store.subscribe(['any'], checkText)
  await talk.turn()
  for (const [i, text] of texts.entries()) {
    expect(TEXT.startsWith(text)).toBe(true)
    // It only gets longer.
    expect(text.length).toBeGreaterThanOrEqual(texts[i - 1]?.length ?? 0)
  }
  return { ...talk, statuses }
}

describe('a dropped stream', () => {
  const cuts = reply.map((_, cut) => cut)

  test.each([
    ['closes', undefined],
    ['fails', new TypeError('terminated')],
  ])('law 7: keeps the content of a stream that %s and cannot be resumed, and reports no success', async (_, error) => {
    for (const cut of cuts) {
      const { log, messages, chat } = await read(reply, undefined, [cut], error)
      expect(log.filter(line => !line.startsWith('tool'))).toEqual(['error STREAM_ERROR', 'finish disconnect error'])
      const [question, answer] = messages()
      expect(question?.status).toBe(cut === 0 ? 'error' : 'sent')
      expect(answer?.status).toBe(cut === 0 ? undefined : 'error')
      expect(answer?.parts.some(part => 'state' in part && part.state === 'streaming')).toBeFalsy()
      expect(chat.state).toMatchObject({
        status: 'error',
        error: { code: 'STREAM_ERROR', source: 'stream', recoverable: true },
        connection: { status: 'offline' },
      })
    }
  })

  test.each(Object.keys(ways))(
    'shows one part without repeats after a drop at any position, resumed with %s',
    async name => {
      const { first, rest } = ways[name] as (typeof ways)[string]
      for (const cut of cuts) {
        for (const error of [undefined, new TypeError('terminated')]) {
          const { log, messages, statuses, chat } = await read(first, rest, [cut], error)
          expect(messages()[1]).toMatchObject({
            id: 'a1',
            status: 'sent',
            parts: [
              { type: 'reasoning', text: 'Hm.', state: 'done' },
              { type: 'text', text: TEXT, state: 'done' },
              { type: 'tool', toolInvocation: { state: 'output-available', output: 1 } },
            ],
          })
          expect(messages()[1]?.parts).toHaveLength(3)
          const otherLines = log.filter(line => !line.startsWith('tool'))
          expect(otherLines).toEqual(['error STREAM_ERROR recovered', 'finish'])
          expect(log.filter(line => line.startsWith('tool'))).toEqual(['tool input-available', 'tool output-available'])
          expect(statuses).toEqual(cut === 0 ? ['streaming', 'sent'] : ['streaming', 'error', 'streaming', 'sent'])
          expect(chat.state).toMatchObject({ status: 'ready', error: undefined, connection: { status: 'live' } })
        }
      }
    },
  )

  test('reconnects as long as each attempt brings news', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('the rest, raw', 'the rest, in envelopes'),
        fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 8 }),
        fc.boolean(),
        async (name, cuts, fails) => {
          const { first, rest } = ways[name] as (typeof ways)[string]
          const { log, textOf } = await read(first, rest, cuts, fails ? new Error('cut') : undefined)
          expect(textOf('a1')).toEqual([TEXT])
          expect(log.at(-1)).toBe('finish')
          expect(log.filter(line => line === 'finish')).toHaveLength(1)
        },
      ),
      runs(40),
    )
  })

  test('appends text under a repeated text-start if it differs from the known text', async () => {
    const adapter: ChatAdapter = {
      sendMessage: async () => streamOf(hello.slice(0, 3)),
      reconnectToStream: async () =>
        streamOf([
          hello[0],
          { type: 'text-start', id: 't1' },
          { type: 'text-delta', id: 't1', delta: ' world' },
          hello[5],
        ]),
    }
    const { turn, textOf } = chatOver(adapter)
    await turn()
    expect(textOf('a1')).toEqual(['Hello world'])
  })
})

describe('reconnecting', () => {
  test('passes the id of the reply to reconnectToStream, and never reconnects after its end', async () => {
    const reconnects: unknown[] = []
    const adapter: ChatAdapter = {
      sendMessage: async () => streamOf(reconnects.length === 0 ? hello.slice(0, 3) : hello),
      reconnectToStream: async ({ conversationId, messageId, signal }) => {
        reconnects.push({ conversationId, messageId, isAborted: signal.aborted })
        return streamOf(hello.slice(3))
      },
    }
    const { turn } = chatOver(adapter, { conversationId: 'c1' })
    await turn()
    await turn('again', 'u2')
    expect(reconnects).toEqual([{ conversationId: 'c1', messageId: 'a1', isAborted: false }])
  })

  test('stops reconnecting at null, and keeps the error', async () => {
    let count = 0
    const adapter: ChatAdapter = {
      sendMessage: async () => streamOf(hello.slice(0, 3)),
      reconnectToStream: async () => {
        count++
        return null
      },
    }
    const { turn, log, chat } = chatOver(adapter)
    await turn()
    expect(count).toBe(1)
    expect(log).toEqual(['error STREAM_ERROR', 'finish disconnect error'])
    expect(chat.state.error).toMatchObject({ code: 'STREAM_ERROR', details: { messageId: 'a1' } })
  })

  test.each([
    ['fails', () => Promise.reject(new Error('still down'))],
    ['brings nothing', async () => streamOf([])],
    ['repeats the received chunks only', async () => streamOf(hello.slice(0, 3))],
    ['brings only a start', async () => streamOf([hello[0], { type: 'start-step' }, hello[1]])],
    [
      'that brings less than came, under other names',
      async () =>
        streamOf(
          [...hello.slice(0, 2), { type: 'text-delta', id: 't1', delta: 'He' }].map(chunk => ({
            eventId: crypto.randomUUID(),
            chunk,
          })),
        ),
    ],
    [
      'that brings parts without a text, which may have come before',
      async () => streamOf([hello[0], { type: 'data-x', data: 1 }, { type: 'message-metadata', metadata: { k: 1 } }]),
    ],
  ])('tries a reconnect three times if each attempt %s', async (_, reconnect) => {
    let count = 0
    const adapter: ChatAdapter = {
      sendMessage: async () => streamOf(hello.slice(0, 3)),
      reconnectToStream: () => {
        count++
        return reconnect()
      },
    }
    const { turn, log, calls } = chatOver(adapter)
    await turn()
    expect(count).toBe(3)
    expect(log.filter(line => !line.startsWith('data'))).toEqual(['error STREAM_ERROR', 'finish disconnect error'])
    expect(calls.errors).toHaveLength(1)
  })

  test('keeps reconnecting as long as sequences advance, for any chunk type', async () => {
    let at = 0
    const next = async () => {
      const sequence = at++
      const chunk = sequence === 0 ? hello[0] : sequence === 8 ? hello[5] : { type: 'data-x', data: sequence }
      return streamOf([{ sequence, chunk }])
    }
    const { turn, log, messages } = chatOver({ sendMessage: next, reconnectToStream: next })
    await turn()
    expect(messages()[1]).toMatchObject({ status: 'sent', parts: { length: 7 } })
    expect(log.at(-1)).toBe('finish')
  })

  test('delays reconnects from the second attempt on, also after news', async () => {
    vi.useFakeTimers()
    let count = 0
    const { chat, finished } = chatOver(
      {
        sendMessage: async () => streamOf(hello.slice(0, 3)),
        reconnectToStream: async () =>
          streamOf(++count < 20 ? [{ type: 'text-delta', id: 't1', delta: '!' }] : hello.slice(4)),
      },
      { backoff: { firstMs: 250, longestMs: 10_000 } },
    )
    const end = finished()
    await chat.sendMessage('hi')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(count).toBeGreaterThan(2)
    expect(count).toBeLessThan(10)
    await vi.advanceTimersByTimeAsync(20 * 250)
    await end
    vi.useRealTimers()
    expect(count).toBe(20)
  })

  test('does not reconnect after an invalid chunk', async () => {
    const reconnectToStream = vi.fn(async () => streamOf(hello))
    const { turn, log, calls, messages } = chatOver({
      sendMessage: async () => streamOf([...hello.slice(0, 3), { type: 'text-delta', id: 't1' }, hello[5]]),
      reconnectToStream,
    })
    await turn()
    expect(reconnectToStream).not.toHaveBeenCalled()
    expect(log).toEqual(['error STREAM_ERROR', 'finish disconnect error'])
    expect(calls.errors).toMatchObject([
      { message: 'chunk text-delta.delta: expected a string, found undefined', details: { cause: 'invalid-chunk' } },
    ])
    expect(messages()[1]).toMatchObject({ status: 'error', parts: [{ text: 'Hello', state: 'done' }] })
  })

  test('times out a reconnect, and sends the next queued message', async () => {
    vi.useFakeTimers()
    const signals: AbortSignal[] = []
    let count = 0
    const { chat, log, finished } = chatOver({
      sendMessage: async () => streamOf(++count === 1 ? hello.slice(0, 3) : [{ type: 'start' }, { type: 'finish' }]),
      reconnectToStream: ({ signal }) => {
        signals.push(signal)
        return Promise.withResolvers<null>().promise
      },
    })
    const first = finished()
    await chat.sendMessage('one')
    const second = chat.sendMessage('two')
    await vi.advanceTimersByTimeAsync(3 * 20_000 + 10)
    await first
    await second
    vi.useRealTimers()
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true])
    expect(log).toEqual(['error STREAM_ERROR', 'finish disconnect error', 'finish'])
  })

  test('keeps a request for approval open when the reply is resumed', async () => {
    const rest = controlled()
    const { chat, until, log } = chatOver({
      sendMessage: async () =>
        streamOf([...hello.slice(0, 3), { type: 'tool-approval-request', toolCallId: 'c', toolName: 'rm', input: 1 }]),
      reconnectToStream: async () => rest.stream,
    })
    await chat.sendMessage('hi')
    await until(() => chat.state.connection.status === 'offline')
    expect(chat.state).toMatchObject({ status: 'paused', error: { code: 'STREAM_ERROR' } })
    rest.push({ type: 'text-delta', id: 't1', delta: '!' })
    await until(() => chat.state.connection.status === 'live')
    expect(chat.state).toMatchObject({ status: 'paused', error: undefined })
    expect(log).toEqual(['tool approval-requested', 'error STREAM_ERROR recovered'])
    await chat.stop()
  })

  test('shows the error in the message while it reconnects, and ends at once on stop', async () => {
    const { promise: never } = Promise.withResolvers<null>()
    const adapter: ChatAdapter = {
      sendMessage: async () => streamOf(hello.slice(0, 3)),
      reconnectToStream: () => never,
    }
    const { chat, until, log, messages } = chatOver(adapter)
    await chat.sendMessage('hi')
    await until(() => chat.state.connection.status === 'offline')
    // It is under way, and can be stopped.
    expect(chat.state).toMatchObject({
      status: 'streaming',
      runId: expect.any(String),
      error: { code: 'STREAM_ERROR' },
    })
    expect(messages()[1]?.status).toBe('error')
    await chat.stop()
    expect(log).toEqual(['finish abort'])
    expect(messages()[1]).toMatchObject({ status: 'cancelled', parts: [{ text: 'Hello', state: 'done' }] })
    expect(chat.state).toMatchObject({ status: 'ready', error: undefined })
  })

  test('cancels a stream that arrives after stop', async () => {
    const { promise, resolve } = Promise.withResolvers<ReturnType<typeof streamOf>>()
    const { chat, log } = chatOver({ sendMessage: () => promise })
    const sent = chat.sendMessage('hi', { messageId: 'u1' })
    await chat.stop()
    expect(await sent).toMatchObject({ messageId: 'u1' })
    const late = controlled()
    resolve(late.stream)
    await late.cancelled
    expect(log).toEqual(['finish abort'])
  })

  test.each([
    ['the end', [hello[0], hello[5]]],
    ['an invalid value', [hello[0], null]],
  ])('cancels the stream after %s', async (_, values) => {
    const { stream, push, cancelled } = controlled()
    const { turn } = chatOver({ sendMessage: async () => stream })
    const end = turn()
    push(...values)
    await end
    await cancelled
  })
})
