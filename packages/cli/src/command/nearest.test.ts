import { expect, test } from 'vitest'
import { nearest } from './nearest.ts'

test.each([
  ['tial', 'tail'],
  ['sesions', 'sessions'],
  ['conv', 'convert'],
  ['docotr', 'doctor'],
  ['serve', undefined],
  ['x', undefined],
])('%s may mean %s', (written, meant) => {
  expect(nearest(written, ['dev', 'tail', 'replay', 'sessions', 'convert', 'doctor'])).toBe(meant)
})
