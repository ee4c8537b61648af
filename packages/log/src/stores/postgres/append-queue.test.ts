import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { proxy } from '../../../../../scripts/faults/proxy.ts'
import { ContractWriter } from '../../contract/writer.ts'
import type { LogStore } from '../../store/log-store.ts'
import { postgresStore } from './index.ts'
import { type Server, server, until } from './postgres-server.fixture.ts'

const batch = { body: '["a","b"]', count: 2 }

describe('appends to many logs at once', () => {
  let running: Server
  let store: LogStore
  let prefix: string
  let count = 0
  const ends: (() => Promise<unknown>)[] = []
  // One slot and two spare connections, so that appends that wait for the first are sent together.
  const open = (url = running.url) => {
    const opened = postgresStore({ url, poolSize: 3 })
    ends.push(() => opened.close())
    return opened
  }
  beforeAll(async () => {
    running = await server()
  })
  beforeEach(() => {
    prefix = `${++count}`
    store = open()
  })
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
  })
  afterAll(() => running.stop())

  const nameOf = (label: string) => `${prefix}-${label}`
  const writerOf = async (label: string, on = store) => {
    const streamId = nameOf(label)
    await on.create(streamId, null)
    const claim = await on.claim(streamId, 'me', 60_000, false)
    const page = await on.read(streamId, { sequence: 0 }, { batches: 0, bytes: 0 })
    if (claim.outcome !== 'claimed' || !page) throw new Error(`expected a claim of the new log, found ${claim.outcome}`)
    return new ContractWriter(on, streamId, claim, { sequence: 0, incarnation: page.incarnation, epoch: '0' })
  }
  const writersOf = (labels: string[], on = store) => Promise.all(labels.map(label => writerOf(label, on)))
  const hold = async (label: string) => {
    const operator = await running.session()
    ends.push(() => operator.end())
    await operator.query('begin')
    await operator.query('select 1 from millrace.streams where key = $1 for update', [nameOf(label)])
    return () => operator.query('rollback')
  }
  const waits = (appends: number) =>
    until(async () => {
      const text = `select count(*)::int from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'millrace'`
      return (await running.sql(text))[0]?.[0] === appends
    })
  /** The transaction that wrote the last batch of each log. */
  const transactions = async (labels: string[]) => {
    const text = `select b.xmin::text from millrace.batches b join millrace.streams s on s.id = b.stream and s.head = b.last where s.key = any($1)`
    return (await running.sql(text, [labels.map(nameOf)])).map(([xmin]) => xmin)
  }

  it('law 1: share a transaction while they wait, each with its own outcome', async () => {
    const labels = ['c', 'b', 'a', 'd']
    const [first, ...rest] = (await writersOf(['held', ...labels])) as [ContractWriter, ...ContractWriter[]]
    await store.claim(nameOf('d'), 'another', 60_000, true)
    const free = await hold('held')
    const appends = [first.append(batch)]
    await waits(1)
    appends.push(...rest.map(writer => writer.append(batch)))
    await free()
    const appended = { outcome: 'appended', first: 1, last: 2 }
    const outcomes = await Promise.all(appends)
    expect(outcomes).toMatchObject([appended, appended, appended, appended, { outcome: 'fenced' }])
    expect(new Set(await transactions(['a', 'b', 'c'])).size).toBe(1)
    expect(new Set(await transactions(['held', 'a'])).size).toBe(2)
  })

  it('continue while one log is locked', async () => {
    const [first, ...rest] = (await writersOf(['first', 'a', 'b', 'c'])) as [ContractWriter, ...ContractWriter[]]
    const [free, freeB] = [await hold('first'), await hold('b')]
    const head = first.append(batch)
    await waits(1)
    const [a, b, c] = rest.map(writer => writer.append(batch))
    await free()
    expect(await Promise.all([head, a, c])).toMatchObject([{ last: 2 }, { last: 2 }, { last: 2 }])
    await waits(1)
    await freeB()
    expect(await b).toMatchObject({ outcome: 'appended', first: 1, last: 2 })
  })

  it('continue while one of them is too large', async () => {
    const [first, ...rest] = (await writersOf(['first', 'a', 'b', 'c'])) as [ContractWriter, ...ContractWriter[]]
    const free = await hold('first')
    const head = first.append(batch)
    await waits(1)
    const bodies = ['["a"]', '["\0"]', '["c"]']
    const appends = rest.map((writer, i) => writer.append({ body: bodies[i] ?? '', count: 1 }))
    const settled = Promise.allSettled([head, ...appends])
    await free()
    const results = await settled
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
    expect(results[2]).toMatchObject({ reason: { name: 'LogError', code: 'invalid' } })
  })

  it('law 5: are unavailable when their answer is lost, and duplicates when sent again', async () => {
    const faulty = await proxy(running.url)
    ends.push(() => faulty.stop())
    const through = open(faulty.url(running.url))
    const labels = ['a', 'b']
    const [first, ...rest] = (await writersOf(['first', ...labels], through)) as [ContractWriter, ...ContractWriter[]]
    const free = await hold('first')
    const head = first.append(batch)
    await waits(1)
    const lost = Promise.allSettled(rest.map(writer => writer.append(batch)))
    // Lets them through once no answer can arrive.
    faulty.stall('up')
    const sent = faulty.event('stall')
    await free()
    expect(await head).toMatchObject({ outcome: 'appended' })
    await sent
    faulty.stall('down')
    faulty.resume('up')
    await until(async () => (await transactions(labels)).length === 2)
    faulty.cut()
    faulty.resume('down')
    const unavailable = { status: 'rejected', reason: { name: 'LogError', code: 'unavailable' } }
    expect(await lost).toMatchObject([unavailable, unavailable])
    expect(new Set(await transactions(labels)).size).toBe(1)
    const repeated = await Promise.all(
      labels.map((label, i) => through.append(nameOf(label), batch, (rest[i] as ContractWriter).by)),
    )
    const duplicate = { outcome: 'duplicate', first: 1, last: 2 }
    expect(repeated).toMatchObject([duplicate, duplicate])
  })

  it('are awaited by close, also before they are sent', async () => {
    const [first, second] = (await writersOf(['first', 'second'])) as [ContractWriter, ContractWriter]
    const free = await hold('first')
    const appends = [first.append(batch)]
    await waits(1)
    appends.push(second.append(batch))
    const closing = store.close()
    await free()
    expect(await Promise.all(appends)).toMatchObject([{ outcome: 'appended' }, { outcome: 'appended' }])
    await closing
  })
})
