import { type Entry, Fold, type Message, type View } from '@millrace/protocol'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { sendingOf } from './local-messages.ts'
import { Store, type Topic } from './store.ts'

const origin = { runId: 'r', lane: 'main', agentId: 'r', agentType: 'teller', step: 1 }
const GUEST = { guest: 'somebody' }

/** A log that grows by what is said. */
class Log {
  head = 0

  say(chunk: Entry['chunk'], by: Entry['origin'] = origin): Entry {
    return { sequence: ++this.head, timestamp: this.head, origin: by, chunk }
  }

  begin(id = 't'): Entry[] {
    return [
      this.say({ type: 'run-started', program: 'agent:teller@1' }),
      this.say({ type: 'start' }),
      this.say({ type: 'text-start', id }),
    ]
  }

  delta(text: string, id = 't'): Entry {
    return this.say({ type: 'text-delta', id, delta: text })
  }
}

/** The message of a run's agent. */
const OWN = 'r::r'

const person = (id: string, text: string): Message =>
  sendingOf({ messageId: id, role: 'user', parts: [{ type: 'text', text }] }, 5)

const count = (store: Store, topic: Topic): { n: number } => {
  const counted = { n: 0 }
  store.subscribe(topic, () => counted.n++)
  return counted
}

const textOf = (message: Message | undefined): string =>
  message?.parts.map(part => ('text' in part ? part.text : '')).join('') ?? ''

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('who is told, and how often', () => {
  test('the first change at once, what follows together after the interval', () => {
    const log = new Log()
    const store = new Store({ flushInterval: 16 })
    const told = count(store, ['message', OWN])
    store.apply(log.begin())
    expect(told.n).toBe(1)
    expect(textOf(store.message(OWN))).toBe('')
    for (let n = 0; n < 10; n++) store.apply([log.delta('a')])
    // Whoever reads between two notifications reads what the last told of.
    expect([told.n, textOf(store.message(OWN))]).toEqual([1, ''])
    vi.advanceTimersByTime(15)
    expect(told.n).toBe(1)
    vi.advanceTimersByTime(1)
    expect([told.n, textOf(store.message(OWN))]).toEqual([2, 'aaaaaaaaaa'])
    vi.advanceTimersByTime(100)
    expect(told.n).toBe(2)
    store.apply([log.delta('b')])
    expect(told.n).toBe(3)
  })

  test('a source that never rests keeps nobody from hearing it', () => {
    const log = new Log()
    const store = new Store({ flushInterval: 16 })
    store.apply(log.begin())
    const told = count(store, ['any'])
    // No timer fires while it goes on.
    const clock = vi.spyOn(performance, 'now')
    let now = performance.now()
    for (let n = 0; n < 160; n++) {
      clock.mockReturnValue(now++)
      store.apply([log.delta('.')])
    }
    clock.mockRestore()
    expect(told.n).toBeGreaterThanOrEqual(9)
    expect(told.n).toBeLessThanOrEqual(11)
  })

  test('law 11: a delta wakes who shows it, of a thousand', () => {
    const log = new Log()
    const store = new Store({ flushInterval: 0 })
    for (let n = 0; n < 1_000; n++) {
      const parts = [{ type: 'text' as const, text: `${n}` }]
      store.apply([log.say({ type: 'message', messageId: `m${n}`, role: 'user', parts })])
    }
    store.apply(log.begin('one'))
    store.apply([log.say({ type: 'text-start', id: 'two' })])
    const [one, two] = store.message(OWN)?.parts.map(({ key }) => key) ?? []
    const others = store.messageIds.filter(id => id !== OWN).map(id => count(store, ['message', id]))
    const own = count(store, ['message', OWN])
    const parts = [one, two].map(key => count(store, ['part', OWN, key as string]))
    const rest = (['order', 'pendings', 'state', 'output', 'structured', 'ledger'] as const).map(name => {
      void store.messageIds
      void store.pendings
      return count(store, [name])
    })
    store.apply([log.delta('x', 'one')])
    expect(others.filter(({ n }) => n > 0)).toEqual([])
    expect([own.n, ...parts.map(({ n }) => n)]).toEqual([1, 1, 0])
    expect(rest[0]?.n).toBe(0)
    expect(rest[1]?.n).toBe(0)
    expect(rest.slice(2).map(({ n }) => n)).toEqual([0, 0, 0, 0])
  })

  test('one who throws keeps nobody else from hearing, and one may leave while told', () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const store = new Store({ flushInterval: 0 })
    const heard: string[] = []
    store.subscribe(['any'], () => {
      throw new Error('broken')
    })
    const leave = store.subscribe(['any'], () => {
      heard.push('once')
      leave()
    })
    const same = () => void heard.push('twice')
    const [first, second] = [store.subscribe(['any'], same), store.subscribe(['any'], same)]
    store.apply(new Log().begin())
    expect(heard).toEqual(['once', 'twice', 'twice'])
    expect(printed).toHaveBeenCalledOnce()
    first()
    first()
    store.flush()
    expect(heard).toEqual(['once', 'twice', 'twice', 'twice'])
    second()
    printed.mockRestore()
  })

  test('who has left while others were told is not called any more', () => {
    const store = new Store({ flushInterval: 0 })
    const heard: string[] = []
    store.subscribe(['any'], () => leave())
    const leave = store.subscribe(['any'], () => void heard.push('left'))
    store.apply(new Log().begin())
    const order = store.subscribe(['order'], () => leaveAll())
    const leaveAll = store.subscribe(['order'], () => void heard.push('left'))
    store.restore(new Fold().view())
    order()
    expect(heard).toEqual([])
  })

  test('what is changed by who is told of a change is told of too', () => {
    const log = new Log()
    const store = new Store({ flushInterval: 16 })
    const parts = [{ type: 'text' as const, text: 'Hello' }]
    store.apply([log.say({ type: 'message', messageId: 'm', role: 'user', parts }), ...log.begin()])
    let isFirst = true
    store.subscribe(['message', OWN], () => {
      if (isFirst) store.patch('m', { status: 'error' })
      isFirst = false
    })
    const told = count(store, ['message', 'm'])
    expect(store.message('m')?.status).toBe('sent')
    // What somebody else changed is told of with it.
    store.patch('other', { status: 'error' })
    store.apply([log.delta('a')])
    vi.advanceTimersByTime(32)
    expect([told.n, store.message('m')?.status]).toEqual([1, 'error'])
  })

  test('law 11: what changes of runs costs what changed, however many there were', () => {
    const log = new Log()
    const store = new Store({ flushInterval: 0 })
    for (let n = 0; n < 100; n++) {
      const by = { ...origin, runId: `r${n}`, agentId: `r${n}` }
      store.apply([log.say({ type: 'run-started', program: 'agent:teller@1' }, by)])
      store.apply([log.say({ type: 'run-finished', status: 'completed' }, by)])
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
    store.apply([log.say({ type: 'run-started', program: 'agent:teller@1' })])
    const { requests } = store.ledger
    const ids = store.messageIds
    const told = count(store, ['ledger'])
    reads = 0
    store.apply([log.say({ type: 'status', message: 'At work' })])
    expect([told.n, store.ledger.runs.at(-1)?.note, reads]).toEqual([1, 'At work', 0])
    expect(store.ledger.requests).toBe(requests)
    expect(store.messageIds).toBe(ids)
  })

  test('the objects as a whole and the one without a name are two things', () => {
    const log = new Log()
    const store = new Store({ flushInterval: 0 })
    const data = (streamId: string) =>
      log.say({ type: 'structured-data', streamId, dataType: 'd', kind: 'set', path: 'x', value: 1 } as Entry['chunk'])
    store.apply([data('')])
    expect(store.structuredIds).toEqual([''])
    expect(store.structured('')).toMatchObject({ streamId: '' })
    const one = count(store, ['structured', ''])
    store.apply([data('b')])
    expect([one.n, store.structuredIds]).toEqual([0, ['', 'b']])
  })

  test.each([[NaN], [-1], [Infinity], [2 ** 40]])('an interval of %s is one that a timer can keep', interval => {
    const log = new Log()
    const store = new Store({ flushInterval: interval })
    const told = count(store, ['any'])
    store.apply(log.begin())
    for (let n = 0; n < 5; n++) store.apply([log.delta('a')])
    vi.advanceTimersByTime(1_000)
    expect(told.n).toBe(interval > 0 ? 1 : 6)
  })
})

describe('what stays the same object', () => {
  test('over deltas: all but what grew, until it is told', () => {
    const log = new Log()
    const store = new Store({ flushInterval: 16 })
    const parts = [{ type: 'text' as const, text: 'Hello' }]
    store.apply([log.say({ type: 'message', messageId: 'm', role: 'user', parts }), ...log.begin()])
    vi.advanceTimersByTime(16)
    const before = { ids: store.messageIds, user: store.message('m'), own: store.message(OWN), all: store.messages }
    store.apply([log.delta('a')])
    const told = store.message(OWN)
    expect(told).not.toBe(before.own)
    expect([store.messageIds === before.ids, store.message('m') === before.user]).toEqual([true, true])
    store.apply([log.delta('b')])
    // Not told yet: whoever reads now sees what was told.
    expect(store.message(OWN)).toBe(told)
    expect(store.messages).not.toBe(before.all)
    vi.advanceTimersByTime(16)
    expect(textOf(store.message(OWN))).toBe('ab')
  })

  test('over a snapshot: all that says the same', () => {
    const log = new Log()
    const store = new Store({ flushInterval: 0 })
    const parts = [{ type: 'text' as const, text: 'Hello' }]
    store.apply([log.say({ type: 'message', messageId: 'm', role: 'user', parts }), ...log.begin(), log.delta('a')])
    const [user, own, ids] = [store.message('m'), store.message(OWN), store.messageIds]
    const view: View = JSON.parse(JSON.stringify(store.view()))
    store.restore(view)
    expect(store.message('m')).toBe(user)
    expect(store.message(OWN)).toBe(own)
    expect(store.messageIds).toBe(ids)
    store.apply([log.delta('b')])
    expect(store.message('m')).toBe(user)
    expect(textOf(store.message(OWN))).toBe('ab')
  })

  test('over a snapshot: also what is read only after the next change', () => {
    const log = new Log()
    const store = new Store({ flushInterval: 0 })
    const parts = [{ type: 'text' as const, text: 'Hello' }]
    store.apply([log.say({ type: 'message', messageId: 'm', role: 'user', parts }), ...log.begin(), log.delta('a')])
    const user = store.message('m')
    store.restore(JSON.parse(JSON.stringify(store.view())))
    store.apply([log.delta('b')])
    expect(store.message('m')).toBe(user)
    expect(textOf(store.message(OWN))).toBe('ab')
  })
})

describe('what the log does not hold', () => {
  const requested = (log: Log, runId: string, messageId: string) =>
    log.say(
      {
        type: 'run-requested',
        runId,
        program: 'agent:teller',
        message: { messageId, role: 'user', parts: [{ type: 'text', text: 'Wait' }] },
      } as Entry['chunk'],
      GUEST,
    )

  test('a message on its way is shown until the log has it', () => {
    const log = new Log()
    const store = new Store({ flushInterval: 0 })
    store.add(person('m', 'Hello'))
    expect(store.messages.map(({ id, status }) => [id, status])).toEqual([['m', 'sending']])
    const parts = [{ type: 'text' as const, text: 'Hello' }]
    store.apply([log.say({ type: 'message', messageId: 'm', role: 'user', parts })])
    expect(store.messages.map(({ id, status }) => [id, status])).toEqual([['m', 'sent']])
    store.add(person('n', 'Gone'))
    store.remove('n')
    expect(store.messageIds).toEqual(['m'])
  })

  test('what waits in the log is shown in every tab, and gone when it was stopped', () => {
    const log = new Log()
    const store = new Store({ flushInterval: 0 })
    const told = count(store, ['messages'])
    expect(store.messages).toEqual([])
    store.apply([requested(log, 'q', 'w')])
    expect(told.n).toBe(1)
    expect(store.messages.map(({ id, status }) => [id, status])).toEqual([['w', 'sending']])
    expect(store.message('w')?.createdAt).toBe(Date.now())
    store.apply([log.say({ type: 'stop-requested', runId: 'q' } as Entry['chunk'], GUEST)])
    expect(store.messages).toEqual([])
    // Behind a run, it is no older than that.
    store.apply([...log.begin(), requested(log, 'p', 'v')])
    expect(store.message('v')?.createdAt).toBe(store.ledger.runs[0]?.startedAt)
  })

  test('one’s own that was stopped before it began is shown no more', () => {
    const log = new Log()
    const store = new Store({ flushInterval: 0 })
    store.add(person('w', 'Wait'))
    store.apply([requested(log, 'q', 'w')])
    expect(store.messages).toMatchObject([{ id: 'w', createdAt: 5 }])
    store.apply([log.say({ type: 'stop-requested', runId: 'q' } as Entry['chunk'], GUEST)])
    expect(store.messages).toEqual([])
  })

  test('one that could not be sent, and got there after all, waits', () => {
    const log = new Log()
    const store = new Store({ flushInterval: 0 })
    store.add({ ...person('w', 'Wait'), status: 'error' })
    store.apply([requested(log, 'q', 'w')])
    expect(store.message('w')?.status).toBe('sending')
  })

  test('older messages stand before, and stay over a snapshot that begins with one that was shown', () => {
    const log = new Log()
    const views = ['a', 'b', 'c', 'd'].map(messageId => {
      const parts = [{ type: 'text' as const, text: messageId }]
      return log.say({ type: 'message', messageId, role: 'user', parts })
    })
    const whole = new Fold()
    whole.apply(views)
    const { messages, ...rest } = whole.view()
    const last = (from: number) => ({ ...rest, messages: messages.slice(from) })
    const store = new Store({ flushInterval: 0, view: last(2) })
    store.prepend(messages.slice(0, 2))
    expect(store.messageIds).toEqual(['a', 'b', 'c', 'd'])
    const b = store.message('b')
    expect(store.restore(last(3), 'd')).toBe(true)
    expect(store.messageIds).toEqual(['a', 'b', 'c', 'd'])
    expect(store.message('b')).toBe(b)
    // Of another log nothing stays.
    expect(store.restore({ ...rest, messages: [] }, undefined)).toBe(false)
    expect(store.messageIds).toEqual([])
  })

  test('older messages stand where the log has them, also among those of runs at work', () => {
    const log = new Log()
    const whole = new Fold()
    whole.apply([...log.begin(), log.delta('r')])
    for (const messageId of ['a', 'b', 'c', 'd']) {
      const parts = [{ type: 'text' as const, text: messageId }]
      whole.apply([log.say({ type: 'message', messageId, role: 'user', parts })])
    }
    const { messages, ...rest } = whole.view()
    const of = (...ids: string[]) => messages.filter(({ id }) => ids.includes(id))
    const page = { ...rest, messages: of(OWN, 'c', 'd') }
    const store = new Store({ flushInterval: 0, view: { ...rest, messages: of(OWN, 'b', 'c', 'd') } })
    expect(store.restore(page, 'c')).toBe(true)
    expect(store.messageIds).toEqual([OWN, 'b', 'c', 'd'])
    store.prepend(of(OWN, 'a'))
    expect(store.messageIds).toEqual([OWN, 'a', 'b', 'c', 'd'])
    store.restore(page, 'c')
    expect(store.messageIds).toEqual([OWN, 'a', 'b', 'c', 'd'])
  })
})

test('a rewind is said, and changes nothing before there is a snapshot', () => {
  const log = new Log()
  const store = new Store({ flushInterval: 0 })
  store.apply([...log.begin(), log.delta('a'), log.say({ type: 'run-finished', status: 'completed' })])
  const other = { ...origin, runId: 'r2', agentId: 'r2' }
  const isWhole = store.apply([log.say({ type: 'rewind', toSequence: 0, reason: 'edit' } as Entry['chunk'], other)])
  expect(isWhole).toBe(false)
  expect(textOf(store.message(OWN))).toBe('a')
  const told = count(store, ['order'])
  store.restore({ ...new Fold().view(), head: log.head })
  expect(told.n).toBe(1)
  expect(store.messages).toEqual([])
})
