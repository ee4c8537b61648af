import { expect, test } from 'vitest'
import { nearest } from './nearest.ts'

test.each([
  ['tial', 'tail'],
  ['sesions', 'sessions'],
  ['conv', 'convert'],
  ['docotr', 'doctor'],
  ['serve', undefined],
  ['x', undefined],
])('suggests the nearest name for %s: %s', (input, suggestion) => {
  expect(nearest(input, ['dev', 'tail', 'replay', 'sessions', 'convert', 'doctor'])).toBe(suggestion)
})
