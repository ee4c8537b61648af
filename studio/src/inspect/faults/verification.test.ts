import { SessionLog } from '@millrace/client/log'
import type { Entry } from '@millrace/protocol'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { equalJson } from '../equal-json.ts'
import { echoServer, tamperingConnection } from './echo-server.fixture.ts'
import { Verification, type Verified } from './verification.ts'

/** Waits until all entries up to the end of run number `ends` were compared. */
async function rested(verification: Verification, log: SessionLog, ends: number): Promise<Verified> {
  const isDone = () =>
    log.entries.filter(({ chunk }) => chunk.type === 'run-finished').length === ends &&
    verification.state.upTo >= log.state.head &&
    !verification.state.isRunning
  await new Promise<void>(done => {
    const look = () => isDone() && done()
    onTestFinished(verification.subscribe(look))
    onTestFinished(log.subscribe(look))
    look()
  })
  return verification.state
}

test('finds nothing lost and reads each entry once', async () => {
  const { connection, read, runAgent, requests } = echoServer()
  await runAgent('Hello')
  const log = new SessionLog({ sessionId: 's', connection })
  onTestFinished(log.start())
  const verification = new Verification(log, read)
  const first = await rested(verification, log, 1)
  expect(first).toMatchObject({ lost: [], differing: [], upTo: log.state.head, count: log.state.count })
  const before = requests.length
  await runAgent('Again')
  const second = await rested(verification, log, 2)
  expect(second).toMatchObject({ lost: [], differing: [], count: log.state.count })
  expect(second.upTo).toBeGreaterThan(first.upTo)
  const sequences = requests.slice(before).flatMap(path => /after=(\d+)&live=false/.exec(path)?.[1] ?? [])
  expect(sequences.length).toBeGreaterThan(0)
  expect(sequences.every(sequence => Number(sequence) >= first.upTo)).toBe(true)
})

test('reports the sequences of missing and changed entries', async () => {
  const { connection, read, runAgent } = echoServer()
  await runAgent('Hello')
  const bad = tamperingConnection(connection, entries => {
    const kept = entries.filter(({ chunk }) => chunk.type !== 'start')
    return kept.map(entry =>
      entry.chunk.type === 'finish' ? { ...entry, chunk: { ...entry.chunk, finishReason: 'other' } } : entry,
    )
  })
  const log = new SessionLog({ sessionId: 's', connection: bad })
  onTestFinished(log.start())
  const verification = new Verification(log, read)
  const { lost, differing, upTo } = await rested(verification, log, 1)
  expect(upTo).toBe(log.state.head)
  const whole: Entry[] = []
  for await (const { entries } of read('s', 0)) whole.push(...entries)
  const named = (type: string) => whole.filter(({ chunk }) => chunk.type === type).map(({ sequence }) => sequence)
  expect(lost).toEqual(named('start'))
  expect(differing).toEqual(named('finish'))
})

test('does not count a discarded attempt as lost', async () => {
  const { connection, read, runAgent } = echoServer()
  await runAgent('Hello')
  const log = new SessionLog({ sessionId: 's', connection })
  onTestFinished(log.start())
  const verification = new Verification(log, read)
  await rested(verification, log, 1)
  await runAgent('Twice')
  const { lost, differing, count } = await rested(verification, log, 2)
  expect(log.entries.some(({ chunk }) => chunk.type === 'step-discarded')).toBe(true)
  expect({ lost, differing }).toEqual({ lost: [], differing: [] })
  expect(count).toBeLessThanOrEqual(log.state.count)
})

test('reports a read error and compares after a retry', async () => {
  const { connection, read, runAgent } = echoServer()
  await runAgent('Hello')
  const log = new SessionLog({ sessionId: 's', connection })
  onTestFinished(log.start())
  let fails = 2
  const verification = new Verification(log, async function* (...args) {
    if (fails-- > 0) throw new Error('away')
    yield* read(...args)
  })
  const errors = new Set<string | undefined>()
  onTestFinished(verification.subscribe(() => errors.add(verification.state.error)))
  const state = await rested(verification, log, 1)
  expect([...errors]).toContain('away')
  expect(state).toMatchObject({ lost: [], error: undefined, count: log.state.count })
})

test('does not count entries that have not arrived yet as lost', async () => {
  const { connection, read, runAgent } = echoServer()
  await runAgent('Hello')
  const log = new SessionLog({ sessionId: 's', connection })
  const verification = new Verification(log, read)
  verification.check()
  expect(verification.state).toMatchObject({ upTo: 0, lost: [], isRunning: false })
})

test('equalJson compares values as JSON', () => {
  fc.assert(
    fc.property(fc.json(), fc.json(), (a, b) => {
      const [one, other] = [JSON.parse(a), JSON.parse(b)]
      expect(equalJson(one, JSON.parse(a))).toBe(true)
      expect(equalJson(one, other)).toBe(equalJson(other, one))
      const key = (value: unknown): string =>
        JSON.stringify(value, (_, inner) =>
          inner && typeof inner === 'object' && !Array.isArray(inner)
            ? Object.fromEntries(Object.entries(inner).sort(([x], [y]) => (x < y ? -1 : 1)))
            : inner,
        )
      expect(equalJson(one, other)).toBe(key(one) === key(other))
    }),
  )
  expect(equalJson({ a: 1, b: undefined }, { a: 1 })).toBe(true)
  expect(equalJson({}, { constructor: 1 })).toBe(false)
})
