import { expect, test } from 'vitest'
import { decodeText, safeUrl } from './decode-text.ts'

test('decodes character references and keeps unknown ones', () => {
  expect(decodeText('a &amp; b &lt; c &#65;&#x42; &nbsp;&nope; &constructor; & d')).toBe(
    'a & b < c AB \u00a0&nope; &constructor; & d',
  )
  expect(decodeText('&#0;&#xD800;&#9999999;')).toBe('\ufffd\ufffd\ufffd')
})

test('allows only http, https and mailto links', () => {
  expect(safeUrl('https://mill.example/a?b=1&amp;c=2')).toBe('https://mill.example/a?b=1&c=2')
  expect(safeUrl('mailto:ann@example.com')).toBe('mailto:ann@example.com')
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
    expect(safeUrl(href)).toBeUndefined()
  }
})
