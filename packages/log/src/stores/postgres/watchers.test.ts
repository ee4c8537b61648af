import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { guest } from '../../contract/writer.ts'
import type { LogStore } from '../../store/log-store.ts'
import { type PostgresOptions, postgresStore } from './index.ts'
import { tokenOf } from './name.ts'
import { channelOf, readPayload } from './notifier.ts'
import { type Server, server, until } from './postgres-server.fixture.ts'

const batch = { body: '[0]', count: 1 }
const listeners = `select pid from pg_stat_activity where query ilike 'listen%' and application_name = 'millrace'`

describe('watching a log in Postgres', () => {
  let running: Server
  const stores: LogStore[] = []
  const open = (options: Partial<PostgresOptions> = {}) => {
    const store = postgresStore({ url: running.url, poolSize: 2, ...options })
    stores.push(store)
    return store
  }
  const listening = () => until(async () => (await running.sql(listeners)).length === 1)
  beforeAll(async () => {
    running = await server()
  })
  afterEach(async () => {
    await Promise.all(stores.splice(0).map(store => store.close()))
  })
  afterAll(() => running.stop())

  /** Watches until the first wake-up after which the log has this length. */
  const follow = (store: LogStore, streamId: string) => {
    let check = () => {}
    const stop = store.watch(streamId, () => check())
    const reaches = (head: number) =>
      new Promise<void>((resolve, reject) => {
        check = () => {
          store
            .read(streamId, { sequence: 0 }, { batches: 0, bytes: 0 })
            .then(page => page?.head === head && resolve(), reject)
        }
      })
    return { stop, reaches }
  }

  /** Repeatedly lets the polling interval pass until the condition holds. */
  const whileLooking = async (happens: Promise<void>) => {
    let isOver = false
    const over = happens.finally(() => {
      isOver = true
    })
    await until(async () => {
      vi.advanceTimersByTime(1_000)
      return isOver
    })
    await over
  }

  it('listens on one connection, and closes it with the last watch', async () => {
    const store = open()
    const stops = ['a', 'b', 'c'].map(id => store.watch(id, () => {}))
    await listening()
    for (const stop of stops) stop()
    await until(async () => (await running.sql(listeners)).length === 0)
    store.watch('d', () => {})
    await listening()
    await store.close()
    expect(await running.sql(listeners)).toEqual([])
  })

  it('reconnects when the listening connection ends, and misses nothing', async () => {
    const [reader, writer] = [open(), open()]
    await writer.create('ended', null)
    const follower = follow(reader, 'ended')
    await listening()
    for (let head = 1; head <= 3; head++) {
      const reached = follower.reaches(head)
      const [[before] = []] = await running.sql(listeners)
      await running.sql('select pg_terminate_backend($1)', [before])
      await writer.append('ended', batch, guest())
      await reached
      await until(async () => {
        const now = await running.sql(listeners)
        return now.length === 1 && now[0]?.[0] !== before
      })
    }
  })

  it('wakes on a notification, before its next poll', async () => {
    const [reader, writer] = [open(), open()]
    await writer.create('notified', null)
    // Polling is delayed, so that only a notification can wake.
    vi.useFakeTimers({ toFake: ['setInterval'] })
    try {
      const follower = follow(reader, 'notified')
      await listening()
      for (let head = 1; head <= 3; head++) {
        const reached = follower.reaches(head)
        await writer.append('notified', batch, guest())
        await reached
      }
    } finally {
      vi.useRealTimers()
    }
  })

  it('finds an append without a notification by polling', async () => {
    const reader = open({ listen: false })
    await reader.create('silent', null)
    vi.useFakeTimers({ toFake: ['setInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const follower = follow(reader, 'silent')
    for (let head = 1; head <= 2; head++) {
      const reached = follower.reaches(head)
      // Appends without a notification, like a process that dies after its commit.
      const text = `select millrace.append('silent', '[0]', 1, null, null, null, null, null, null, $1, false, 'n')`
      await running.sql(text, [`key-${head}`])
      await whileLooking(reached)
    }
    expect(await running.sql(listeners)).toEqual([])
  })

  it('does not wake a watcher of an unchanged log when it polls', async () => {
    const store = open()
    for (const id of ['busy', 'quiet']) await store.create(id, null)
    vi.useFakeTimers({ toFake: ['setInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    let quiet = 0
    store.watch('quiet', () => quiet++)
    const follower = follow(store, 'busy')
    await until(async () => {
      vi.advanceTimersByTime(1_000)
      return quiet > 0
    })
    const before = quiet
    for (let head = 1; head <= 3; head++) {
      const reached = follower.reaches(head)
      await running.sql(
        `select millrace.append('busy', '[0]', 1, null, null, null, null, null, null, $1, false, 'n')`,
        [`key-${head}`],
      )
      await whileLooking(reached)
    }
    expect(quiet - before).toBeLessThanOrEqual(1)
  })

  it('law 2: wakes when a restored backup equals the last poll', async () => {
    const [reader, writer] = [open({ listen: false }), open()]
    await writer.create('back', null)
    const copy = await running.copy()
    vi.useFakeTimers({ toFake: ['setInterval'] })
    try {
      let woken = 0
      reader.watch('back', () => woken++)
      const advanceUntilWoken = async () => {
        vi.advanceTimersByTime(1_000)
        return woken > 0
      }
      await until(advanceUntilWoken)
      // A reader detects this, and polling does not.
      await writer.append('back', batch, guest())
      await running.restore(copy)
      woken = 0
      await until(advanceUntilWoken)
    } finally {
      vi.useRealTimers()
    }
  })

  it('combines notifications of many logs into few small messages', async () => {
    const operator = await running.session()
    const payloads: string[] = []
    operator.on('notification', ({ payload = '' }) => payloads.push(payload))
    const store = open({ poolSize: 8 })
    const ids = Array.from({ length: 700 }, (_, i) => `${i}-${'x'.repeat(i % 100 ? 10 : 3000)}`)
    await Promise.all(ids.map(id => store.create(id, null)))
    await operator.query(`listen ${channelOf('millrace')}`)
    await Promise.all(ids.map(id => store.append(id, batch, guest())))
    await store.close()
    await operator.query('select 1')
    await operator.end()
    const tokens = payloads.map(payload => readPayload(payload).tokens)
    expect(new Set(tokens.flat())).toEqual(new Set(ids.map(tokenOf)))
    expect(payloads.length).toBeLessThan(ids.length / 4)
    expect(Math.max(...payloads.map(payload => payload.length))).toBeLessThan(8000)
  })
})
