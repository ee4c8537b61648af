import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { escapeExceptStyles, styled } from './terminal.ts'

test('escapes control characters, except for the added styles', () => {
  const hostile = '\u001b[2J\u009b31m\u0007 words'
  const shown = '\\u001b[2J\\u009b31m\\u0007 words'
  expect(escapeExceptStyles(hostile)).toBe(shown)
  vi.stubEnv('NO_COLOR', undefined)
  vi.stubEnv('FORCE_COLOR', '1')
  const tty = Object.assign(new PassThrough(), { isTTY: true, getColorDepth: () => 8, hasColors: () => true })
  const red = escapeExceptStyles(`${styled('red', hostile, tty)} ${hostile}`)
  vi.unstubAllEnvs()
  expect(red).toBe(`\u001b[31m${shown}\u001b[39m ${shown}`)
})

test('escapes control characters in JSON without changing its value', () => {
  const value = { text: '\u009b31m\u202e\\\u0085 "quoted"\r\n\u001b' }
  const text = escapeExceptStyles(JSON.stringify(value))
  expect(JSON.parse(text)).toEqual(value)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
  expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
})
