import { type Entry, Fold, type Message, type View } from '@millrace/protocol'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { toSendingMessage } from './local-messages.ts'
import { Store, type Topic } from './store.ts'

const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'teller', step: 1 }
const GUEST = { guest: 'user-1' }

/** Creates the entries of a log. */
class Log {
  head = 0

  entry(chunk: Entry['chunk'], by: Entry['origin'] = origin): Entry {
    return { sequence: ++this.head, timestamp: this.head, origin: by, chunk }
  }

  startText(id = 't'): Entry[] {
    return [
      this.entry({ type: 'run-started', program: 'agent:teller@1' }),
      this.entry({ type: 'start' }),
      this.entry({ type: 'text-start', id }),
    ]
  }

  delta(text: string, id = 't'): Entry {
    return this.entry({ type: 'text-delta', id, delta: text })
  }
}

/** Id of the agent's message. */
const AGENT_MESSAGE = 'r::r'

const sendingMessage = (id: string, text: string): Message =>
  toSendingMessage({ messageId: id, role: 'user', parts: [{ type: 'text', text }] }, 5)

const countCalls = (store: Store, topic: Topic): { n: number } => {
  const calls = { n: 0 }
  store.subscribe(topic, () => calls.n++)
  return calls
}

const textOf = (message: Message | undefined): string =>
  message?.parts.map(part => ('text' in part ? part.text : '')).join('') ?? ''

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('notifications', () => {
  test('notifies of the first change at once, and of later ones together after the interval', () => {
    const log = new Log()
    const store = new Store({ flushIntervalMs: 16 })
    const calls = countCalls(store, ['message', AGENT_MESSAGE])
    store.apply(log.startText())
    expect(calls.n).toBe(1)
    expect(textOf(store.message(AGENT_MESSAGE))).toBe('')
    for (let n = 0; n < 10; n++) store.apply([log.delta('a')])
    // A read between two notifications returns the state of the last one.
    expect([calls.n, textOf(store.message(AGENT_MESSAGE))]).toEqual([1, ''])
    vi.advanceTimersByTime(15)
    expect(calls.n).toBe(1)
    vi.advanceTimersByTime(1)
    expect([calls.n, textOf(store.message(AGENT_MESSAGE))]).toEqual([2, 'aaaaaaaaaa'])
    vi.advanceTimersByTime(100)
    expect(calls.n).toBe(2)
    store.apply([log.delta('b')])
    expect(calls.n).toBe(3)
  })

  test('notifies listeners during a continuous stream that blocks timers', () => {
    const log = new Log()
    const store = new Store({ flushIntervalMs: 16 })
    store.apply(log.startText())
    const calls = countCalls(store, ['any'])
    // No timer fires during the loop.
    const clock = vi.spyOn(performance, 'now')
    let now = performance.now()
    for (let n = 0; n < 160; n++) {
      clock.mockReturnValue(now++)
      store.apply([log.delta('.')])
    }
    clock.mockRestore()
    expect(calls.n).toBeGreaterThanOrEqual(9)
    expect(calls.n).toBeLessThanOrEqual(11)
  })

  test('law 11: a delta notifies only the listeners of its message and part among a thousand', () => {
    const log = new Log()
    const store = new Store({ flushIntervalMs: 0 })
    for (let n = 0; n < 1_000; n++) {
      const parts = [{ type: 'text' as const, text: `${n}` }]
      store.apply([log.entry({ type: 'message', messageId: `m${n}`, role: 'user', parts })])
    }
    store.apply(log.startText('one'))
    store.apply([log.entry({ type: 'text-start', id: 'two' })])
    const [one, two] = store.message(AGENT_MESSAGE)?.parts.map(({ key }) => key) ?? []
    const others = store.messageIds.filter(id => id !== AGENT_MESSAGE).map(id => countCalls(store, ['message', id]))
    const agentMessageCalls = countCalls(store, ['message', AGENT_MESSAGE])
    const parts = [one, two].map(key => countCalls(store, ['part', AGENT_MESSAGE, key as string]))
    const rest = (['order', 'pendings', 'state', 'output', 'structured', 'ledger'] as const).map(name => {
      void store.messageIds
      void store.pendings
      return countCalls(store, [name])
    })
    store.apply([log.delta('x', 'one')])
    expect(others.filter(({ n }) => n > 0)).toEqual([])
    expect([agentMessageCalls.n, ...parts.map(({ n }) => n)]).toEqual([1, 1, 0])
    expect(rest[0]?.n).toBe(0)
    expect(rest[1]?.n).toBe(0)
    expect(rest.slice(2).map(({ n }) => n)).toEqual([0, 0, 0, 0])
  })

  test('calls other listeners if one throws, and lets a listener unsubscribe itself', () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    const store = new Store({ flushIntervalMs: 0 })
    const calls: string[] = []
    store.subscribe(['any'], () => {
      throw new Error('broken')
    })
    const unsubscribe = store.subscribe(['any'], () => {
      calls.push('once')
      unsubscribe()
    })
    const listener = () => void calls.push('twice')
    const [first, second] = [store.subscribe(['any'], listener), store.subscribe(['any'], listener)]
    store.apply(new Log().startText())
    expect(calls).toEqual(['once', 'twice', 'twice'])
    expect(logged).toHaveBeenCalledOnce()
    first()
    first()
    store.flush()
    expect(calls).toEqual(['once', 'twice', 'twice', 'twice'])
    second()
    logged.mockRestore()
  })

  test('does not call a listener that another listener removed', () => {
    const store = new Store({ flushIntervalMs: 0 })
    const calls: string[] = []
    store.subscribe(['any'], () => unsubscribe())
    const unsubscribe = store.subscribe(['any'], () => void calls.push('removed'))
    store.apply(new Log().startText())
    const order = store.subscribe(['order'], () => unsubscribeOrder())
    const unsubscribeOrder = store.subscribe(['order'], () => void calls.push('removed'))
    store.restore(new Fold().view())
    order()
    expect(calls).toEqual([])
  })

  test('notifies of a change that a listener made', () => {
    const log = new Log()
    const store = new Store({ flushIntervalMs: 16 })
    const parts = [{ type: 'text' as const, text: 'Hello' }]
    store.apply([log.entry({ type: 'message', messageId: 'm', role: 'user', parts }), ...log.startText()])
    let isFirst = true
    store.subscribe(['message', AGENT_MESSAGE], () => {
      if (isFirst) store.patch('m', { status: 'error' })
      isFirst = false
    })
    const calls = countCalls(store, ['message', 'm'])
    expect(store.message('m')?.status).toBe('sent')
    // A change of another message is part of the same notification.
    store.patch('other', { status: 'error' })
    store.apply([log.delta('a')])
    vi.advanceTimersByTime(32)
    expect([calls.n, store.message('m')?.status]).toEqual([1, 'error'])
  })

  test('law 11: the cost of a change of a run does not depend on the number of runs', () => {
    const log = new Log()
    const store = new Store({ flushIntervalMs: 0 })
    for (let n = 0; n < 100; n++) {
      const by = { ...origin, runId: `r${n}`, agentId: `r${n}` }
      store.apply([log.entry({ type: 'run-started', program: 'agent:teller@1' }, by)])
      store.apply([log.entry({ type: 'run-finished', status: 'completed' }, by)])
    }
    let reads = 0
    const [first] = store.ledger.runs
    const ownKeys = (run: object) => {
      reads++
      return Reflect.ownKeys(run)
    }
    const watched = new Proxy(first as object, { ownKeys })
    const view = store.view()
    store.restore({ ...view, runs: [watched as (typeof view.runs)[0], ...view.runs.slice(1)] })
    expect(store.ledger.runs).toHaveLength(100)
    store.apply([log.entry({ type: 'run-started', program: 'agent:teller@1' })])
    const { requests } = store.ledger
    const ids = store.messageIds
    const calls = countCalls(store, ['ledger'])
    reads = 0
    store.apply([log.entry({ type: 'status', message: 'At work' })])
    expect([calls.n, store.ledger.runs.at(-1)?.note, reads]).toEqual([1, 'At work', 0])
    expect(store.ledger.requests).toBe(requests)
    expect(store.messageIds).toBe(ids)
  })

  test('keeps the list of structured objects apart from the object with an empty id', () => {
    const log = new Log()
    const store = new Store({ flushIntervalMs: 0 })
    const data = (streamId: string) =>
      log.entry({
        type: 'structured-data',
        streamId,
        dataType: 'd',
        kind: 'set',
        path: 'x',
        value: 1,
      } as Entry['chunk'])
    store.apply([data('')])
    expect(store.structuredIds).toEqual([''])
    expect(store.structured('')).toMatchObject({ streamId: '' })
    const one = countCalls(store, ['structured', ''])
    store.apply([data('b')])
    expect([one.n, store.structuredIds]).toEqual([0, ['', 'b']])
  })

  test('continues from a view with unset array items as JSON', () => {
    const log = new Log()
    const row = (index: number) =>
      log.entry({
        type: 'structured-data',
        streamId: 's',
        dataType: 'd',
        kind: 'text-delta',
        path: `rows.${index}.title`,
        delta: 'x',
      })
    const live = new Store({ flushIntervalMs: 0 })
    live.apply([row(1)])
    const late = new Store({ flushIntervalMs: 0, view: JSON.parse(JSON.stringify(live.view())) })
    expect(late.structured('s')).toMatchObject({ data: { rows: [null, { title: 'x' }] }, unset: { rows: { 0: true } } })
    const next = row(0)
    for (const store of [live, late]) {
      store.apply([next])
      expect(store.structured('s')?.data).toEqual({ rows: [{ title: 'x' }, { title: 'x' }] })
    }
  })

  test.each([[NaN], [-1], [Infinity], [2 ** 40]])('clamps a flush interval of %s to what a timer accepts', interval => {
    const log = new Log()
    const store = new Store({ flushIntervalMs: interval })
    const calls = countCalls(store, ['any'])
    store.apply(log.startText())
    for (let n = 0; n < 5; n++) store.apply([log.delta('a')])
    vi.advanceTimersByTime(1_000)
    expect(calls.n).toBe(interval > 0 ? 1 : 6)
  })
})

describe('identity of values', () => {
  test('a delta replaces only the message that it changed, and only with the notification', () => {
    const log = new Log()
    const store = new Store({ flushIntervalMs: 16 })
    const parts = [{ type: 'text' as const, text: 'Hello' }]
    store.apply([log.entry({ type: 'message', messageId: 'm', role: 'user', parts }), ...log.startText()])
    vi.advanceTimersByTime(16)
    const before = {
      ids: store.messageIds,
      user: store.message('m'),
      own: store.message(AGENT_MESSAGE),
      all: store.messages,
    }
    store.apply([log.delta('a')])
    const notified = store.message(AGENT_MESSAGE)
    expect(notified).not.toBe(before.own)
    expect([store.messageIds === before.ids, store.message('m') === before.user]).toEqual([true, true])
    store.apply([log.delta('b')])
    // Listeners were not notified yet, so reads return the previous value.
    expect(store.message(AGENT_MESSAGE)).toBe(notified)
    expect(store.messages).not.toBe(before.all)
    vi.advanceTimersByTime(16)
    expect(textOf(store.message(AGENT_MESSAGE))).toBe('ab')
  })

  test('a snapshot keeps equal values', () => {
    const log = new Log()
    const store = new Store({ flushIntervalMs: 0 })
    const parts = [{ type: 'text' as const, text: 'Hello' }]
    store.apply([
      log.entry({ type: 'message', messageId: 'm', role: 'user', parts }),
      ...log.startText(),
      log.delta('a'),
    ])
    const [user, agentMessage, ids] = [store.message('m'), store.message(AGENT_MESSAGE), store.messageIds]
    const view: View = JSON.parse(JSON.stringify(store.view()))
    store.restore(view)
    expect(store.message('m')).toBe(user)
    expect(store.message(AGENT_MESSAGE)).toBe(agentMessage)
    expect(store.messageIds).toBe(ids)
    store.apply([log.delta('b')])
    expect(store.message('m')).toBe(user)
    expect(textOf(store.message(AGENT_MESSAGE))).toBe('ab')
  })

  test('a snapshot keeps equal values that are first read after the next change', () => {
    const log = new Log()
    const store = new Store({ flushIntervalMs: 0 })
    const parts = [{ type: 'text' as const, text: 'Hello' }]
    store.apply([
      log.entry({ type: 'message', messageId: 'm', role: 'user', parts }),
      ...log.startText(),
      log.delta('a'),
    ])
    const user = store.message('m')
    store.restore(JSON.parse(JSON.stringify(store.view())))
    store.apply([log.delta('b')])
    expect(store.message('m')).toBe(user)
    expect(textOf(store.message(AGENT_MESSAGE))).toBe('ab')
  })
})

describe('messages that the log does not hold', () => {
  const requested = (log: Log, runId: string, messageId: string) =>
    log.entry(
      {
        type: 'run-requested',
        runId,
        program: 'agent:teller',
        message: { messageId, role: 'user', parts: [{ type: 'text', text: 'Wait' }] },
      } as Entry['chunk'],
      GUEST,
    )

  test('shows an optimistic message until the log has it', () => {
    const log = new Log()
    const store = new Store({ flushIntervalMs: 0 })
    store.add(sendingMessage('m', 'Hello'))
    expect(store.messages.map(({ id, status }) => [id, status])).toEqual([['m', 'sending']])
    const parts = [{ type: 'text' as const, text: 'Hello' }]
    store.apply([log.entry({ type: 'message', messageId: 'm', role: 'user', parts })])
    expect(store.messages.map(({ id, status }) => [id, status])).toEqual([['m', 'sent']])
    store.add(sendingMessage('n', 'Gone'))
    store.remove('n')
    expect(store.messageIds).toEqual(['m'])
  })

  test('shows a queued message in every tab until it is stopped', () => {
    const log = new Log()
    const store = new Store({ flushIntervalMs: 0 })
    const calls = countCalls(store, ['messages'])
    expect(store.messages).toEqual([])
    store.apply([requested(log, 'q', 'w')])
    expect(calls.n).toBe(1)
    expect(store.messages.map(({ id, status }) => [id, status])).toEqual([['w', 'sending']])
    expect(store.message('w')?.createdAt).toBe(Date.now())
    store.apply([log.entry({ type: 'stop-requested', runId: 'q' } as Entry['chunk'], GUEST)])
    expect(store.messages).toEqual([])
    // A message that waits for a run is not older than the run.
    store.apply([...log.startText(), requested(log, 'p', 'v')])
    expect(store.message('v')?.createdAt).toBe(store.ledger.runs[0]?.startedAt)
  })

  test('removes an optimistic message if its request is stopped before it starts', () => {
    const log = new Log()
    const store = new Store({ flushIntervalMs: 0 })
    store.add(sendingMessage('w', 'Wait'))
    store.apply([requested(log, 'q', 'w')])
    expect(store.messages).toMatchObject([{ id: 'w', createdAt: 5 }])
    store.apply([log.entry({ type: 'stop-requested', runId: 'q' } as Entry['chunk'], GUEST)])
    expect(store.messages).toEqual([])
  })

  test('shows a failed message as sending if its request arrived after all', () => {
    const log = new Log()
    const store = new Store({ flushIntervalMs: 0 })
    store.add({ ...sendingMessage('w', 'Wait'), status: 'error' })
    store.apply([requested(log, 'q', 'w')])
    expect(store.message('w')?.status).toBe('sending')
  })

  test('keeps older messages after a snapshot that begins with a loaded message', () => {
    const log = new Log()
    const entries = ['a', 'b', 'c', 'd'].map(messageId => {
      const parts = [{ type: 'text' as const, text: messageId }]
      return log.entry({ type: 'message', messageId, role: 'user', parts })
    })
    const whole = new Fold()
    whole.apply(entries)
    const { messages, ...rest } = whole.view()
    const last = (from: number) => ({ ...rest, messages: messages.slice(from) })
    const store = new Store({ flushIntervalMs: 0, view: last(2) })
    store.prepend(messages.slice(0, 2))
    expect(store.messageIds).toEqual(['a', 'b', 'c', 'd'])
    const b = store.message('b')
    expect(store.restore(last(3), 'd')).toBe(true)
    expect(store.messageIds).toEqual(['a', 'b', 'c', 'd'])
    expect(store.message('b')).toBe(b)
    // A snapshot of another log replaces everything.
    expect(store.restore({ ...rest, messages: [] }, undefined)).toBe(false)
    expect(store.messageIds).toEqual([])
  })

  test('orders older messages by their position in the log, also around messages of open runs', () => {
    const log = new Log()
    const whole = new Fold()
    whole.apply([...log.startText(), log.delta('r')])
    for (const messageId of ['a', 'b', 'c', 'd']) {
      const parts = [{ type: 'text' as const, text: messageId }]
      whole.apply([log.entry({ type: 'message', messageId, role: 'user', parts })])
    }
    const { messages, ...rest } = whole.view()
    const messagesOf = (...ids: string[]) => messages.filter(({ id }) => ids.includes(id))
    const page = { ...rest, messages: messagesOf(AGENT_MESSAGE, 'c', 'd') }
    const store = new Store({
      flushIntervalMs: 0,
      view: { ...rest, messages: messagesOf(AGENT_MESSAGE, 'b', 'c', 'd') },
    })
    expect(store.restore(page, 'c')).toBe(true)
    expect(store.messageIds).toEqual([AGENT_MESSAGE, 'b', 'c', 'd'])
    store.prepend(messagesOf(AGENT_MESSAGE, 'a'))
    expect(store.messageIds).toEqual([AGENT_MESSAGE, 'a', 'b', 'c', 'd'])
    store.restore(page, 'c')
    expect(store.messageIds).toEqual([AGENT_MESSAGE, 'a', 'b', 'c', 'd'])
  })
})

test('reports a rewind, and changes nothing before the snapshot', () => {
  const log = new Log()
  const store = new Store({ flushIntervalMs: 0 })
  store.apply([...log.startText(), log.delta('a'), log.entry({ type: 'run-finished', status: 'completed' })])
  const other = { ...origin, runId: 'r2', agentId: 'r2' }
  const isComplete = store.apply([
    log.entry({ type: 'rewind', toSequence: 0, reason: 'edit' } as Entry['chunk'], other),
  ])
  expect(isComplete).toBe(false)
  expect(textOf(store.message(AGENT_MESSAGE))).toBe('a')
  const calls = countCalls(store, ['order'])
  store.restore({ ...new Fold().view(), head: log.head })
  expect(calls.n).toBe(1)
  expect(store.messages).toEqual([])
})
