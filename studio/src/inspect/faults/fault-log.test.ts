import { expect, test } from 'vitest'
import { FaultLog, type Standing } from './fault-log.ts'
import { hostOf } from './host.ts'

const fine: Standing = {
  isLive: true,
  delayMs: 0,
  server: { pid: 10 },
  worker: { state: 'up', pid: 20, starts: 1 },
  head: 7,
}

test('a connection that was dropped is back when it was away and is live', () => {
  const log = new FaultLog()
  log.cause('drop', fine, 1000)
  expect(log.see(fine, 1010)).toBe(false)
  expect(log.see({ ...fine, isLive: false }, 1020)).toBe(false)
  expect(log.see({ ...fine, head: 9 }, 2200)).toBe(true)
  expect(log.faults).toMatchObject([
    { name: 'drop', state: 'over', words: 'connected again', tookMs: 1200, head: 7, headAfter: 9 },
  ])
  expect(log.see({ ...fine, isLive: false }, 3000)).toBe(false)
})

test('where nothing was open a drop says so', () => {
  const log = new FaultLog()
  log.cause('drop', fine, 0)
  log.see(fine, 3999)
  expect(log.faults[0]?.state).toBe('under-way')
  log.see(fine, 4001)
  expect(log.faults).toMatchObject([{ state: 'over', words: 'nothing was open' }])
})

test('a worker is back when another is up, and its run is taken over later', () => {
  const log = new FaultLog()
  expect(log.tookOver(3)).toBe(false)
  log.cause('kill-worker', fine, 0)
  log.see(fine, 5)
  log.see({ ...fine, worker: { state: 'down', starts: 1 } }, 10)
  log.see({ ...fine, worker: { state: 'starting', pid: 21, starts: 2 } }, 1500)
  expect(log.faults[0]?.state).toBe('under-way')
  log.see({ ...fine, worker: { state: 'up', pid: 21, starts: 2 } }, 1600)
  expect(log.faults).toMatchObject([{ state: 'over', words: 'another is up, pid 21', tookMs: 1600 }])
  expect(log.tookOver(7)).toBe(false)
  expect(log.tookOver(12)).toBe(true)
  expect(log.tookOver(20)).toBe(false)
  expect(log.faults).toMatchObject([{ takenOverAt: 12 }])
})

test('a run that was being driven waits for a lease, until it is taken over or has ended', () => {
  const log = new FaultLog()
  log.cause('kill-worker', fine, 0)
  expect(log.faults[0]?.isLeaseHeld).toBeUndefined()
  log.cause('kill-worker', fine, 1, { isAtWork: true })
  expect(log.ended(7)).toBe(false)
  expect(log.faults.at(-1)?.isLeaseHeld).toBe(true)
  expect(log.tookOver(9)).toBe(true)
  expect(log.faults.at(-1)).toMatchObject({ isLeaseHeld: false, takenOverAt: 9 })
  log.cause('kill-worker', fine, 2, { isAtWork: true })
  expect([log.ended(8), log.ended(9)]).toEqual([true, false])
  expect(log.faults.at(-1)?.isLeaseHeld).toBe(false)
})

test('a server is back when it is another and the tab is connected to it', () => {
  const log = new FaultLog()
  log.cause('restart-server', fine, 0)
  log.see({ ...fine, isLive: false }, 10)
  log.see({ ...fine, isLive: false, server: { pid: 11 } }, 300)
  expect(log.faults[0]?.state).toBe('under-way')
  log.see({ ...fine, server: { pid: 11 } }, 700)
  expect(log.faults).toMatchObject([{ state: 'over', words: 'up and connected, pid 11', tookMs: 700 }])
})

test('a delay is in force when the host says so; one that the host refuses is over', () => {
  const log = new FaultLog()
  log.cause('delay', fine, 0, { ms: 300 })
  log.see(fine, 5)
  expect(log.faults[0]?.state).toBe('under-way')
  log.see({ ...fine, delayMs: 300 }, 10)
  expect(log.faults[0]).toMatchObject({ state: 'over', ms: 300 })
  expect(log.faults[0]?.tookMs).toBeUndefined()
  log.refuse(log.cause('delay', fine, 20, { ms: 0 }), 'too many')
  expect(log.faults.at(-1)).toMatchObject({ state: 'refused', words: 'too many' })
})

test('only the latest are kept', () => {
  const log = new FaultLog()
  for (let i = 0; i < 250; i++) log.cause('drop', fine, i)
  expect(log.faults).toHaveLength(100)
  expect(log.faults.at(-1)?.id).toBe(250)
  log.see({ ...fine, isLive: false }, 300)
  log.see(fine, 301)
  expect(log.faults.every(({ state }) => state === 'over')).toBe(true)
})

test('a host is taken for one only if it is', () => {
  const told = {
    file: 'a.ts',
    server: { pid: 1, starts: 1 },
    worker: { state: 'up', pid: 2, starts: 1 },
    delays: { t: 5 },
  }
  expect(hostOf(JSON.stringify(told))).toEqual(told)
  for (const other of ['', 'null', '[]', '{}', '{"file":"a"}', JSON.stringify({ ...told, worker: { state: 'odd' } })])
    expect(hostOf(other)).toBeUndefined()
})
