import { expect, test } from 'vitest'
import { LruCache } from './lru-cache.ts'

const MEGABYTE = 1024 * 1024

test('keeps the most recently used entries within its weight', () => {
  const recent = new LruCache<number>(10 * MEGABYTE)
  recent.set('a', 1, 4 * MEGABYTE)
  recent.set('b', 2, 4 * MEGABYTE)
  recent.set('a', 3, 4 * MEGABYTE)
  recent.set('c', 4, 4 * MEGABYTE)
  expect(['a', 'b', 'c'].map(name => recent.get(name))).toEqual([3, undefined, 4])
  recent.delete('a')
  recent.set('d', 5, 6 * MEGABYTE)
  expect(['c', 'd'].map(name => recent.get(name))).toEqual([4, 5])
})

test('a read marks an entry as used', () => {
  const recent = new LruCache<number>(10 * MEGABYTE)
  recent.set('a', 1, 4 * MEGABYTE)
  recent.set('b', 2, 4 * MEGABYTE)
  recent.get('a')
  recent.set('c', 3, 4 * MEGABYTE)
  expect(['a', 'b', 'c'].map(name => recent.get(name))).toEqual([1, undefined, 3])
})

test('keeps an entry larger than the limit alone', () => {
  const recent = new LruCache<number>(10 * MEGABYTE)
  recent.set('a', 1, MEGABYTE)
  recent.set('b', 2, 40 * MEGABYTE)
  expect(['a', 'b'].map(name => recent.get(name))).toEqual([undefined, 2])
  recent.set('c', 3, MEGABYTE)
  expect(['b', 'c'].map(name => recent.get(name))).toEqual([undefined, 3])
})

test('limits the number of small entries', () => {
  const recent = new LruCache<number>(MEGABYTE)
  for (let n = 0; n < 1000; n++) recent.set(`${n}`, n, 1)
  const kept = Array.from({ length: 1000 }, (_, n) => n).filter(n => recent.get(`${n}`) !== undefined)
  expect(kept.length).toBeLessThanOrEqual(64)
  expect(kept.at(-1)).toBe(999)
})
