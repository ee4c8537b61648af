import { expect, test } from 'vitest'
import { Recent } from './recent.ts'

test('what was used last is kept, as much of it as the bound says', () => {
  const recent = new Recent<number>(10)
  recent.set('a', 1, 4)
  recent.set('b', 2, 4)
  recent.set('a', 3, 4)
  recent.set('c', 4, 4)
  expect(['a', 'b', 'c'].map(name => recent.get(name))).toEqual([3, undefined, 4])
  recent.delete('a')
  recent.set('d', 5, 6)
  expect(['c', 'd'].map(name => recent.get(name))).toEqual([4, 5])
})

test('what is larger than the bound is kept alone', () => {
  const recent = new Recent<number>(10)
  recent.set('a', 1, 4)
  recent.set('b', 2, 40)
  expect(['a', 'b'].map(name => recent.get(name))).toEqual([undefined, 2])
  recent.set('c', 3, 1)
  expect(['b', 'c'].map(name => recent.get(name))).toEqual([undefined, 3])
})
