import { expect, test } from 'vitest'
import { guarded, type Logger } from './logger.ts'

test('a logger that chokes on a cause is told without it, and one that always throws does no harm', () => {
  const told: unknown[] = []
  const picky = (message: string, fields: object) => {
    if ('cause' in fields) throw new Error('I choke')
    told.push([message, fields])
  }
  const { warn, error } = guarded({ warn: picky, error: picky })
  warn('a', { runId: 'r', cause: 1 })
  error('b', { runId: 'r' })
  expect(told).toEqual([
    ['a', { runId: 'r' }],
    ['b', { runId: 'r' }],
  ])
  const never: Logger['warn'] = () => {
    throw new Error('never')
  }
  expect(() => guarded({ warn: never, error: never }).error('c', { cause: 1 })).not.toThrow()
})
