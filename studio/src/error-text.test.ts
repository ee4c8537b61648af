import { expect, test } from 'vitest'
import { errorText } from './error-text.ts'

test('shows a readable text instead of an error code or a browser message', () => {
  const unreachable = 'Cannot reach the server.'
  expect(errorText({ code: 'network_error', message: 'Failed to fetch' })).toBe(unreachable)
  expect(errorText({ message: 'NetworkError when attempting to fetch resource.' })).toBe(unreachable)
  expect(errorText({ code: 'answer_already_settled', message: 'x' })).toBe('This was already answered.')
  expect(errorText({ code: 'answer_invalid', message: 'visitors: too small' })).toBe('Visitors: too small')
  expect(errorText({ code: 'constructor', message: 'Too long.' })).toBe('Too long.')
})
