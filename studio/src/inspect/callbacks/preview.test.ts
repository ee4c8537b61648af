import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Call } from './calls.ts'
import { excerptOf, preview } from './preview.ts'

const call = (kind: Call['kind'], name: string, value: unknown): Call => ({ id: 1, kind, name, time: 0, value })

test('returns a small value unchanged', () => {
  const value = { type: 'data-x', data: [1, 'two', null, { three: true }] }
  expect(preview(value)).toEqual(value)
})

test('truncates a large value and says how much is missing', () => {
  expect(preview('x'.repeat(5000))).toBe(`${'x'.repeat(1000)}… 4000 more`)
  expect(preview(Array.from({ length: 5000 }, (_, i) => i))).toEqual(
    expect.arrayContaining(['… 4970 before', 4970, 4999]),
  )
  const loop: { self?: unknown } = {}
  loop.self = loop
  expect(JSON.stringify(preview(loop))).toContain('{…}')
})

test('returns a value that JSON can encode for any input', () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }), value => {
      expect(() => JSON.stringify(preview(value))).not.toThrow()
      for (const kind of ['callback', 'chat', 'connection'] as const) {
        for (const name of ['onData', 'onToolCall', 'onFinish', 'onError']) {
          expect(typeof excerptOf(call(kind, name, preview(value)))).toBe('string')
        }
      }
    }),
  )
})

test('summarizes each kind of call', () => {
  expect(excerptOf(call('callback', 'onData', { type: 'data-x', data: { a: 1 } }))).toBe('data-x {"a":1}')
  expect(excerptOf(call('callback', 'onToolCall', { toolCall: { toolName: 'look', state: 'input-streaming' } }))).toBe(
    'look: input-streaming',
  )
  expect(excerptOf(call('callback', 'onFinish', { finishReason: 'stop' }))).toBe('stop')
  expect(excerptOf(call('callback', 'onFinish', { isAbort: true }))).toBe('stopped')
  expect(excerptOf(call('callback', 'onError', { code: 'x', message: 'No.' }))).toBe('x: No.')
  expect(excerptOf(call('chat', 'streaming', { runId: 'r' }))).toBe('run r')
  expect(excerptOf(call('connection', 'offline', 'the network is away'))).toBe('the network is away')
})
