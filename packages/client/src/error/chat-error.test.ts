import { describe, expect, test } from 'vitest'
import { chatErrorOf, failureOf, RequestError } from './chat-error.ts'

describe('an error of a chat', () => {
  test('is what a request was refused with', () => {
    const refused = new RequestError({ code: 'run_busy', message: 'It runs.', retryable: true }, 409)
    const told = { code: 'run_busy', message: 'It runs.', source: 'send', recoverable: true, retryable: true }
    expect(chatErrorOf(refused, 'send')).toEqual(told)
    expect(chatErrorOf({ ...told, source: undefined }, 'send', { runId: 'r' })).toEqual({
      ...told,
      details: { runId: 'r' },
    })
  })

  test('of what is lost for good cannot be recovered from', () => {
    const gone = { code: 'session_unknown', message: 'There is none.' }
    expect(chatErrorOf(gone, 'stream', undefined, false)).toMatchObject({ recoverable: false, retryable: false })
  })

  test('of what the page itself threw is none of the network', () => {
    expect(chatErrorOf(new TypeError('data is undefined'), 'send')).toMatchObject({
      code: 'client_failed',
      message: 'data is undefined',
      retryable: false,
    })
  })
})

test('what a network throws is worth trying again', () => {
  expect(failureOf(new TypeError('fetch failed'))).toMatchObject({ code: 'network_error', retryable: true })
})
