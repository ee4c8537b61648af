import { describe, expect, test } from 'vitest'
import { chatErrorOf, failureOf, RequestError } from './chat-error.ts'

describe('chatErrorOf', () => {
  test('keeps the code and message of a refusal', () => {
    const refused = new RequestError({ code: 'run_busy', message: 'It runs.', retryable: true }, 409)
    const errorFields = { code: 'run_busy', message: 'It runs.', source: 'send', recoverable: true, retryable: true }
    expect(chatErrorOf(refused, 'send')).toEqual(errorFields)
    expect(chatErrorOf({ ...errorFields, source: undefined }, 'send', { runId: 'r' })).toEqual({
      ...errorFields,
      details: { runId: 'r' },
    })
  })

  test('marks an error as not recoverable', () => {
    const unknownSession = { code: 'session_unknown', message: 'There is none.' }
    expect(chatErrorOf(unknownSession, 'stream', undefined, false)).toMatchObject({
      recoverable: false,
      retryable: false,
    })
  })

  test('gives an error of the page the code client_failed', () => {
    expect(chatErrorOf(new TypeError('data is undefined'), 'send')).toMatchObject({
      code: 'client_failed',
      message: 'data is undefined',
      retryable: false,
    })
  })
})

test('failureOf makes a network error retryable', () => {
  expect(failureOf(new TypeError('fetch failed'))).toMatchObject({ code: 'network_error', retryable: true })
})
