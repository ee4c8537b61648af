import { expect, test } from 'vitest'
import { LeaseObserver, type LeaseRecord } from './lease-observer.ts'

const lease: LeaseRecord = { epoch: '1-a', until: 1_000_000, ttlMs: 3000 }

function observerAt() {
  const clock = { now: 0 }
  return { clock, observer: new LeaseObserver(() => clock.now) }
}

test('a lease has expired once it was seen unchanged for its duration, whatever its end says', () => {
  for (const until of [0, 1_000_000]) {
    const { clock, observer } = observerAt()
    observer.note('s', { ...lease, until })
    expect(observer.expired('s')).toBeUndefined()
    clock.now = 2999
    expect(observer.expired('s')).toBeUndefined()
    expect(observer.remainingMs('s', { ...lease, until })).toBe(1)
    clock.now = 3000
    expect(observer.expired('s')).toEqual({ ...lease, until })
  }
})

test('a renewal or another epoch begins the observation again', () => {
  for (const next of [
    { ...lease, until: 1_001_000 },
    { ...lease, epoch: '2-b' },
  ]) {
    const { clock, observer } = observerAt()
    observer.note('s', lease)
    clock.now = 2999
    observer.note('s', next)
    clock.now = 3001
    expect(observer.expired('s')).toBeUndefined()
    clock.now = 5999
    expect(observer.expired('s')).toEqual(next)
  }
})

test('a lease without a duration never expires here, and neither does one that was not seen', () => {
  const { clock, observer } = observerAt()
  observer.note('s', { ...lease, ttlMs: undefined })
  clock.now = 1_000_000
  expect([observer.expired('s'), observer.expired('other')]).toEqual([undefined, undefined])
})

test('law 8: forgets the lease that was seen least recently', () => {
  const { clock, observer } = observerAt()
  for (let n = 0; n < 10_001; n++) {
    observer.note(`s${n}`, lease)
    observer.note('s1', lease)
  }
  clock.now = 3000
  expect([observer.expired('s0'), observer.expired('s1'), observer.expired('s3')]).toEqual([undefined, lease, lease])
})
