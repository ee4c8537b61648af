import { expect, test } from 'vitest'
import { addressOf, wordsIn } from './words.ts'

test('references are the characters that they stand for, and what is none is text', () => {
  expect(wordsIn('a &amp; b &lt; c &#65;&#x42; &nbsp;&nope; &constructor; & d')).toBe(
    'a & b < c AB \u00a0&nope; &constructor; & d',
  )
  expect(wordsIn('&#0;&#xD800;&#9999999;')).toBe('\ufffd\ufffd\ufffd')
})

test('links lead to pages and to people, and nowhere else', () => {
  expect(addressOf('https://mill.example/a?b=1&amp;c=2')).toBe('https://mill.example/a?b=1&c=2')
  expect(addressOf('mailto:ann@example.com')).toBe('mailto:ann@example.com')
  for (const href of [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    '&#106;avascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    '/inspect/x',
    '//evil.example',
    'https://',
    'file:///etc/passwd',
    '#x',
  ]) {
    expect(addressOf(href)).toBeUndefined()
  }
})
