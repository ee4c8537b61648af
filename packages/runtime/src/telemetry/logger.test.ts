import { expect, onTestFinished, test, vi } from 'vitest'
import { consoleLogger, type Logger, safeLogger } from './logger.ts'

test('retries without the cause if a logger throws, and ignores a logger that always throws', () => {
  const collected: unknown[] = []
  const picky = (message: string, fields: object) => {
    if ('cause' in fields) throw new Error('the logger rejects a cause')
    collected.push([message, fields])
  }
  const { warn, error } = safeLogger({ warn: picky, error: picky })
  warn('a', { runId: 'r', cause: 1 })
  error('b', { runId: 'r' })
  expect(collected).toEqual([
    ['a', { runId: 'r' }],
    ['b', { runId: 'r' }],
  ])
  const never: Logger['warn'] = () => {
    throw new Error('never')
  }
  expect(() => safeLogger({ warn: never, error: never }).error('c', { cause: 1 })).not.toThrow()
})

test('consoleLogger prints a warning on one line and an error with its stack', () => {
  const printed: unknown[][] = []
  for (const level of ['warn', 'error'] as const) {
    const spy = vi.spyOn(console, level).mockImplementation((...args) => void printed.push(args))
    onTestFinished(() => spy.mockRestore())
  }
  consoleLogger.warn('no cause', {})
  // A regular expression for the white space around a line break would take minutes for this.
  consoleLogger.warn(`a long\n${' '.repeat(500_000)}cause`, {})
  consoleLogger.warn('100%s sure', { runId: 'r' })
  consoleLogger.warn('a call failed', { runId: 'r', step: 2, cause: new Error('it hung up\n  halfway') })
  consoleLogger.warn('a call failed', { cause: { status: 500, body: ['x'.repeat(200)] } })
  expect(printed).toEqual([
    ['no cause'],
    ['a long cause'],
    ["100%s sure { runId: 'r' }"],
    ["a call failed: it hung up halfway { runId: 'r', step: 2 }"],
    [`a call failed: { status: 500, body: [ '${'x'.repeat(200)}' ] }`],
  ])
  printed.length = 0
  const cause = new Error('outer', { cause: new TypeError('inner') })
  consoleLogger.error('a run failed', { runId: 'r', cause })
  consoleLogger.error('a run failed', {})
  const [[first], second] = printed as [[string], unknown]
  expect(first.split('\n').slice(0, 2)).toEqual(["a run failed { runId: 'r' }", 'Error: outer'])
  expect(first).toContain('logger.test.ts')
  expect(first).toContain('TypeError: inner')
  expect(second).toEqual(['a run failed'])
})
