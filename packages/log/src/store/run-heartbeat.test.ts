import type { MessagePort } from 'node:worker_threads'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { HeartbeatAnswer, HeartbeatRequest, ThreadLease } from './heartbeat-messages.ts'
import { type LeaseRenewer, MAX_LEASES_PER_STATEMENT, type RenewalOutcome, runHeartbeat } from './run-heartbeat.ts'

const TTL = 3000
/** More than any test. */
const NEVER = 1_000_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'hrtime'] }))
afterEach(() => void vi.useRealTimers())

class TestLoop implements LeaseRenewer {
  readonly progress = new Int32Array(new SharedArrayBuffer(4))
  /** The ids of each statement. */
  readonly statements: number[][] = []
  readonly answers: HeartbeatAnswer[] = []
  readonly lost = new Set<number>()
  readonly locked = new Set<number>()
  isDown: boolean
  isClosed = false
  #onMessage: (request: HeartbeatRequest) => void = () => {}

  constructor({ isDown = false } = {}) {
    this.isDown = isDown
    const port = {
      on: (_: string, call: (request: HeartbeatRequest) => void) => {
        this.#onMessage = call
      },
      postMessage: (answer: HeartbeatAnswer) => void this.answers.push(answer),
      close: () => {},
    }
    runHeartbeat(port as unknown as MessagePort, this.progress.buffer as SharedArrayBuffer, this)
  }

  send(request: HeartbeatRequest): void {
    this.#onMessage(request)
  }

  keep(id: number, more: Partial<ThreadLease> = {}): BigInt64Array {
    const until = new SharedArrayBuffer(8)
    const lease = { id, streamId: `s${id}`, epoch: '1-a', ttlMs: TTL, maxBlockedMs: NEVER, until, ...more }
    this.send({ kind: 'keep', lease })
    return new BigInt64Array(until)
  }

  async renew(leases: readonly ThreadLease[]): Promise<readonly RenewalOutcome[]> {
    if (leases.length > 0) this.statements.push(leases.map(({ id }) => id))
    if (this.isDown) throw new Error('down')
    return leases.map(({ id }) => (this.lost.has(id) ? 'lost' : this.locked.has(id) ? 'locked' : 'renewed'))
  }

  async close(): Promise<void> {
    this.isClosed = true
  }
}

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms)

test('renews each lease three times in its duration, and batches renewals that are due at about the same time', async () => {
  const loop = new TestLoop()
  const until = loop.keep(1)
  await advance(200)
  loop.keep(2)
  await advance(800)
  expect(loop.statements).toEqual([[1, 2]])
  expect(until[0]).toBe(process.hrtime.bigint() + 3_000_000_000n)
  await advance(2 * TTL)
  expect(loop.statements).toHaveLength(7)
})

test('law 8: renews many leases in statements of bounded size', async () => {
  const loop = new TestLoop()
  for (let id = 0; id < 2.5 * MAX_LEASES_PER_STATEMENT; id++) loop.keep(id)
  await advance(TTL / 3)
  expect(loop.statements.map(({ length }) => length)).toEqual([
    MAX_LEASES_PER_STATEMENT,
    MAX_LEASES_PER_STATEMENT,
    MAX_LEASES_PER_STATEMENT / 2,
  ])
})

test('reports lost leases and forgets them', async () => {
  const loop = new TestLoop()
  loop.keep(1)
  loop.keep(2)
  loop.lost.add(1)
  await advance(TTL)
  expect(loop.statements).toEqual([[1, 2], [2], [2]])
  const lost = loop.answers.flatMap(answer => (answer.kind === 'changed' ? answer.lost : []))
  expect(lost).toEqual([1])
})

test('retries only the lease of a locked log, and soon', async () => {
  const loop = new TestLoop()
  const [locked] = [loop.keep(1), loop.keep(2)]
  loop.locked.add(1)
  await advance(TTL / 3 + TTL / 10)
  expect(loop.statements).toEqual([[1, 2], [1]])
  expect(locked?.[0]).toBe(0n)
  loop.locked.clear()
  await advance(TTL / 10)
  expect(locked?.[0]).toBeGreaterThan(0n)
})

test('retries soon while the store is down, and reports the renewal of an expired lease', async () => {
  const loop = new TestLoop()
  const until = loop.keep(1)
  await advance(TTL / 3)
  const answers = loop.answers.length
  const renewed = until[0]
  loop.isDown = true
  await advance(TTL)
  expect(loop.statements.length).toBeGreaterThan(5)
  expect(until[0]).toBe(renewed)
  expect(loop.answers).toHaveLength(answers)
  loop.isDown = false
  await advance(TTL / 10)
  expect(loop.answers.at(-1)).toEqual({ kind: 'changed', lost: [], renewed: [1] })
})

test.each([
  ['continues if the store is down after a success', true],
  ['ends if its connection never worked', false],
])('%s', async (_, worked) => {
  const loop = new TestLoop({ isDown: !worked })
  loop.keep(1)
  await advance(TTL / 3)
  loop.isDown = true
  await advance(12_000)
  const { length } = loop.statements
  await advance(12_000)
  expect(loop.statements.length > length).toBe(worked)
  expect(loop.isClosed).toBe(!worked)
  const failed = loop.answers.filter(({ kind }) => kind === 'failed')
  expect(failed).toEqual(worked ? [] : [{ kind: 'failed', message: 'down' }])
})

test('renews nothing while the event loop is blocked for too long, and continues when it makes progress', async () => {
  const loop = new TestLoop()
  loop.keep(1, { maxBlockedMs: 2 * TTL })
  loop.keep(2)
  await advance(5 * TTL)
  const countOf = (id: number) => loop.statements.filter(ids => ids.includes(id)).length
  expect([countOf(1), countOf(2)]).toEqual([6, 15])
  Atomics.add(loop.progress, 0, 1)
  await advance(TTL / 3)
  expect([countOf(1), countOf(2)]).toEqual([7, 16])
})

test('reports that it is ready once it has connected, or after tries for a second', async () => {
  const loop = new TestLoop()
  await advance(0)
  expect(loop.answers).toEqual([{ kind: 'ready', isConnected: true }])

  const late = new TestLoop({ isDown: true })
  late.keep(1)
  await advance(900)
  expect(late.answers).toEqual([])
  await advance(200)
  expect(late.answers).toEqual([{ kind: 'ready', isConnected: false }])
  late.isDown = false
  await advance(TTL)
  expect(late.answers.slice(1, 2)).toEqual([{ kind: 'ready', isConnected: true }])
})

test('stops, and closes its connection', async () => {
  const loop = new TestLoop()
  loop.keep(1)
  loop.send({ kind: 'stop', id: 1 })
  await advance(TTL)
  expect(loop.statements).toEqual([])
  loop.keep(2)
  loop.send({ kind: 'close' })
  await advance(TTL)
  expect([loop.statements, loop.isClosed]).toEqual([[], true])
})
