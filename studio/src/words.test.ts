import { expect, test } from 'vitest'
import { wordsOf } from './words.ts'

test('people are told in words, not in codes nor in those of a browser', () => {
  const away = 'The server cannot be reached.'
  expect(wordsOf({ code: 'network_error', message: 'Failed to fetch' })).toBe(away)
  expect(wordsOf({ message: 'NetworkError when attempting to fetch resource.' })).toBe(away)
  expect(wordsOf({ code: 'answer_already_settled', message: 'x' })).toBe('It has been answered already.')
  expect(wordsOf({ code: 'answer_invalid', message: 'visitors: too small' })).toBe('Visitors: too small')
  expect(wordsOf({ code: 'constructor', message: 'Say less.' })).toBe('Say less.')
})
