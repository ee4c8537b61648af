import { expect, test } from 'vitest'
import { FaultLog, type SystemState } from './fault-log.ts'
import { hostOf } from './host.ts'

const fine: SystemState = {
  isLive: true,
  delayMs: 0,
  server: { pid: 10 },
  worker: { state: 'up', pid: 20, starts: 1 },
  head: 7,
}

test('a drop is over once the connection was lost and is live again', () => {
  const log = new FaultLog()
  log.add('drop', fine, 1000)
  expect(log.update(fine, 1010)).toBe(false)
  expect(log.update({ ...fine, isLive: false }, 1020)).toBe(false)
  expect(log.update({ ...fine, head: 9 }, 2200)).toBe(true)
  expect(log.faults).toMatchObject([
    { name: 'drop', state: 'done', outcome: 'reconnected', tookMs: 1200, head: 7, headAfter: 9 },
  ])
  expect(log.update({ ...fine, isLive: false }, 3000)).toBe(false)
})

test('a drop without an open stream ends after a timeout', () => {
  const log = new FaultLog()
  log.add('drop', fine, 0)
  log.update(fine, 3999)
  expect(log.faults[0]?.state).toBe('open')
  log.update(fine, 4001)
  expect(log.faults).toMatchObject([{ state: 'done', outcome: 'no open stream' }])
})

test('a killed worker is over once another is up, and records the takeover', () => {
  const log = new FaultLog()
  expect(log.recordTakeover(3)).toBe(false)
  log.add('kill-worker', fine, 0)
  log.update(fine, 5)
  log.update({ ...fine, worker: { state: 'down', starts: 1 } }, 10)
  log.update({ ...fine, worker: { state: 'starting', pid: 21, starts: 2 } }, 1500)
  expect(log.faults[0]?.state).toBe('open')
  log.update({ ...fine, worker: { state: 'up', pid: 21, starts: 2 } }, 1600)
  expect(log.faults).toMatchObject([{ state: 'done', outcome: 'new worker, pid 21', tookMs: 1600 }])
  expect(log.recordTakeover(7)).toBe(false)
  expect(log.recordTakeover(12)).toBe(true)
  expect(log.recordTakeover(20)).toBe(false)
  expect(log.faults).toMatchObject([{ takenOverAt: 12 }])
})

test('holds the lease of a killed worker until its run is taken over or ends', () => {
  const log = new FaultLog()
  log.add('kill-worker', fine, 0)
  expect(log.faults[0]?.isLeaseHeld).toBeUndefined()
  log.add('kill-worker', fine, 1, { isRunning: true })
  expect(log.recordRunEnd(7)).toBe(false)
  expect(log.faults.at(-1)?.isLeaseHeld).toBe(true)
  expect(log.recordTakeover(9)).toBe(true)
  expect(log.faults.at(-1)).toMatchObject({ isLeaseHeld: false, takenOverAt: 9 })
  log.add('kill-worker', fine, 2, { isRunning: true })
  expect([log.recordRunEnd(8), log.recordRunEnd(9)]).toEqual([true, false])
  expect(log.faults.at(-1)?.isLeaseHeld).toBe(false)
})

test('a killed server is over once the tab is connected to a new one', () => {
  const log = new FaultLog()
  log.add('restart-server', fine, 0)
  log.update({ ...fine, isLive: false }, 10)
  log.update({ ...fine, isLive: false, server: { pid: 11 } }, 300)
  expect(log.faults[0]?.state).toBe('open')
  log.update({ ...fine, server: { pid: 11 } }, 700)
  expect(log.faults).toMatchObject([{ state: 'done', outcome: 'new server, pid 11', tookMs: 700 }])
})

test('a delay is over once the host applies it, and rejected if the host refuses', () => {
  const log = new FaultLog()
  log.add('delay', fine, 0, { ms: 300 })
  log.update(fine, 5)
  expect(log.faults[0]?.state).toBe('open')
  log.update({ ...fine, delayMs: 300 }, 10)
  expect(log.faults[0]).toMatchObject({ state: 'done', ms: 300 })
  expect(log.faults[0]?.tookMs).toBeUndefined()
  log.reject(log.add('delay', fine, 20, { ms: 0 }), 'too many')
  expect(log.faults.at(-1)).toMatchObject({ state: 'rejected', outcome: 'too many' })
})

test('keeps the latest 100 faults', () => {
  const log = new FaultLog()
  for (let i = 0; i < 250; i++) log.add('drop', fine, i)
  expect(log.faults).toHaveLength(100)
  expect(log.faults.at(-1)?.id).toBe(250)
  log.update({ ...fine, isLive: false }, 300)
  log.update(fine, 301)
  expect(log.faults.every(({ state }) => state === 'done')).toBe(true)
})

test('parses only a valid host status', () => {
  const host = {
    file: 'a.ts',
    server: { pid: 1, starts: 1 },
    worker: { state: 'up', pid: 2, starts: 1 },
    delays: { t: 5 },
  }
  expect(hostOf(JSON.stringify(host))).toEqual(host)
  for (const other of ['', 'null', '[]', '{}', '{"file":"a"}', JSON.stringify({ ...host, worker: { state: 'odd' } })])
    expect(hostOf(other)).toBeUndefined()
})
