import { expect, test } from 'vitest'
import { excerpt } from './excerpt.ts'

test('keeps a text that fits', () => {
  expect(excerpt('grist', 5)).toBe('grist')
})

test('shortens to the given length with an ellipsis', () => {
  expect(excerpt('gristmill', 5)).toBe('gris…')
})

test('does not split a surrogate pair', () => {
  expect(excerpt('abc🌾def', 5)).toBe('abc…')
})
