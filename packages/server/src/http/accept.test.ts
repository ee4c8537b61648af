import { expect, it } from 'vitest'
import { negotiate } from './accept.ts'

const negotiated = (accept: string | null) => {
  try {
    return negotiate(accept, ['sse', 'ndjson', 'json'])
  } catch (error) {
    return (error as { code: string }).code
  }
}

it.each([
  [null, 'sse'],
  ['', 'sse'],
  ['*/*', 'sse'],
  ['application/*', 'ndjson'],
  ['text/*', 'sse'],
  ['application/json', 'json'],
  ['application/ndjson', 'ndjson'],
  ['application/json, text/event-stream', 'json'],
  ['application/json;q=0.5, text/event-stream;q=0.9', 'sse'],
  ['application/json; charset=utf-8; q=0.5, application/x-ndjson; q=0.50', 'json'],
  ['text/html, */*;q=0.1', 'sse'],
  ['text/event-stream;q=0, */*', 'ndjson'],
  ['text/event-stream;q=0', 'not_acceptable'],
  ['*/*;q=0', 'not_acceptable'],
  ['text/html', 'not_acceptable'],
  [',,;', 'not_acceptable'],
  ['json', 'not_acceptable'],
  ['TEXT/EVENT-STREAM', 'sse'],
  ['application/json;q=nonsense', 'json'],
])('negotiates for Accept %s: %s', (accept, outcome) => {
  expect(negotiated(accept)).toBe(outcome)
})

it('ignores ranges beyond the first 32', () => {
  expect(negotiated(`${'a/b,'.repeat(100_000)}*/*`)).toBe('not_acceptable')
})
