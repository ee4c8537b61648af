import { expect, test } from 'vitest'
import { BudgetError, MillraceError, ProviderError, RunError, ToolError, ValidationError } from './error.ts'
import { categoryOf, errorCodes } from './error-codes.ts'

test('an error has a code, a category, a name and its cause', () => {
  const cause = new Error('why')
  const error = new ProviderError('provider_overloaded', 'the provider is overloaded', { retryable: true, cause })
  expect(error).toMatchObject({
    name: 'ProviderError',
    code: 'provider_overloaded',
    category: 'provider',
    retryable: true,
    cause,
  })
  expect(new ValidationError('no')).toMatchObject({
    code: 'validation_failed',
    category: 'validation',
    retryable: false,
  })
  expect(new ToolError('no')).toMatchObject({ code: 'tool_execution_failed', category: 'tool' })
  expect(new ToolError('no', { code: 'tool_timeout' }).code).toBe('tool_timeout')
  for (const Kind of [BudgetError, RunError]) expect(new Kind('run_busy', 'x').name).toBe(Kind.name)
})

test('isInstance recognizes an error of another copy of the package', () => {
  const other = Object.assign(new Error('x'), { [Symbol.for('millrace.error')]: true, code: 'run_busy' })
  expect(MillraceError.isInstance(other)).toBe(true)
  for (const value of [new Error('x'), null, undefined, 'x', {}]) expect(MillraceError.isInstance(value)).toBe(false)
})

const MARK = Symbol.for('millrace.error')
const throwing = () => {
  throw new Error('no')
}

test.each<[string, object]>([
  ['the mark without its fields', { [MARK]: true }],
  ['the mark with a code that is not a string', { [MARK]: true, code: 5, message: 'x' }],
  ['the mark without a message', Object.assign(Object.create(null), { [MARK]: true, code: 'run_busy' })],
  [
    'the mark with a getter of code that throws',
    Object.defineProperty({ [MARK]: true, message: 'x' }, 'code', { get: throwing }),
  ],
  ['a proxy that throws on every access', new Proxy({}, { has: throwing, get: throwing, getPrototypeOf: throwing })],
])('isInstance returns false and does not throw for %s', (_, value) => {
  expect(MillraceError.isInstance(value)).toBe(false)
})

test('codes are unique and start with their category', () => {
  const codes = Object.values(errorCodes)
  expect(new Set(codes).size).toBe(codes.length)
  expect(errorCodes.providerOverloaded).toBe('provider_overloaded')
  expect(errorCodes.providerRateLimited).toBe('provider_rate_limited')
  expect(categoryOf('provider_stream_cut')).toBe('provider')
})
