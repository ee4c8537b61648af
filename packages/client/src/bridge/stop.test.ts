import { describe, expect, test, vi } from 'vitest'
import { chatOver, controlled, hello, replyOf } from './chat.fixture.ts'

describe('stopping', () => {
  test('aborts the signal, the stream and the adapter at once, keeps the content, and reports no error', async () => {
    const { stream, push, cancelled } = controlled()
    const stop = vi.fn()
    let signal: AbortSignal | undefined
    const { chat, until, messages, log } = chatOver({
      sendMessage: async input => {
        signal = input.signal
        return stream
      },
      stop,
    })
    await chat.sendMessage('hi')
    push(...hello.slice(0, 3), { type: 'tool-input-start', toolCallId: 'c', toolName: 'x' })
    await until(() => chat.store.messages[1]?.parts.length === 2)
    const stopped = chat.stop()
    expect(signal?.aborted).toBe(true)
    expect(log).toEqual(['tool input-streaming', 'finish abort'])
    expect(messages()).toMatchObject([
      { status: 'cancelled' },
      {
        status: 'cancelled',
        parts: [
          { text: 'Hello', state: 'done' },
          { toolInvocation: { state: 'output-error', errorText: 'The reply ended before this call did.' } },
        ],
      },
    ])
    expect(chat.state).toMatchObject({ status: 'ready', error: undefined })
    await stopped
    await cancelled
    expect(stop).toHaveBeenCalledTimes(1)
  })

  test('stop does nothing without a reply, or for another run', async () => {
    const stop = vi.fn()
    const { chat, log } = chatOver({ sendMessage: async () => controlled().stream, stop })
    await chat.stop()
    await chat.sendMessage('hi')
    await chat.stop({ runId: 'another' })
    expect(log).toEqual([])
    expect(stop).not.toHaveBeenCalled()
    await chat.stop()
    expect(log).toEqual(['finish abort'])
  })

  test('stops the reply when the last subscriber leaves, and keeps queued messages for a retry', async () => {
    const { stream, cancelled } = controlled()
    let count = 0
    const { chat, messages, finished } = chatOver({
      sendMessage: async () => (++count === 1 ? stream : replyOf(`a${count}`, 'ok')),
    })
    const leave = chat.start()
    expect(chat.state.connection.status).toBe('live')
    await chat.sendMessage('one', { messageId: 'u1' })
    const waiting = chat.sendMessage('two', { messageId: 'u2' })
    leave()
    leave()
    expect((await waiting).error).toMatchObject({ code: 'SEND_ERROR' })
    await cancelled
    expect(count).toBe(1)
    expect(chat.state.connection.status).toBe('idle')
    expect(messages()).toMatchObject([{ status: 'cancelled' }, { id: 'u2', status: 'error' }])
    chat.start()
    const end = finished()
    await chat.retry('u2')
    await end
    expect(messages().map(({ status }) => status)).toEqual(['cancelled', 'sent', 'sent'])
  })

  test('stops waiting for an adapter that never stops', async () => {
    vi.useFakeTimers()
    const { promise: never } = Promise.withResolvers<void>()
    let count = 0
    const { chat, log, messages, finished } = chatOver({
      sendMessage: async () => (++count === 1 ? controlled().stream : replyOf('a2', 'ok')),
      stop: () => never,
    })
    await chat.sendMessage('one', { messageId: 'u1' })
    const waiting = chat.sendMessage('two', { messageId: 'u2' })
    const stopped = chat.stop()
    const end = finished()
    await vi.advanceTimersByTimeAsync(20_000)
    await Promise.all([stopped, waiting, end])
    vi.useRealTimers()
    expect(log).toEqual(['finish abort', 'error STOP_ERROR', 'finish'])
    expect(messages().map(({ id, status }) => `${id} ${status}`)).toEqual(['u1 cancelled', 'u2 sent', 'a2 sent'])
  })

  test('reports an adapter that cannot stop', async () => {
    const { chat, log } = chatOver({
      sendMessage: async () => controlled().stream,
      stop: () => Promise.reject(new Error('cannot')),
    })
    await chat.sendMessage('hi')
    await chat.stop()
    expect(log).toEqual(['finish abort', 'error STOP_ERROR'])
  })
})
