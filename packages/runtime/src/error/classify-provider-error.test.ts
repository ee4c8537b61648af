import {
  APICallError,
  EmptyResponseBodyError,
  InvalidResponseDataError,
  JSONParseError,
  LoadAPIKeyError,
  NoSuchModelError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { classifyProviderError } from './classify-provider-error.ts'
import { ProviderError, ToolError } from './error.ts'

const SECRET = 'sk-live-1234 in https://provider.example/v1?key=sk-live-1234'

/** An error as the AI SDK throws it for a reply of that status. */
const reply = (statusCode: number, body: unknown = {}, headers: Record<string, string> = {}) =>
  new APICallError({
    message: `the provider's own message, ${SECRET}`,
    url: `https://provider.example/v1?key=${SECRET}`,
    requestBodyValues: { prompt: SECRET },
    statusCode,
    responseHeaders: headers,
    responseBody: JSON.stringify({ secret: SECRET, ...(body as object) }),
  })

const coded = (code: string, message = 'connect', cause?: unknown) =>
  Object.assign(new Error(message, { cause }), { code })

const inStream = (type: string, statusCode?: number) => ({ type, message: SECRET, statusCode, data: { type } })

const CASES: readonly (readonly [name: string, error: unknown, code: string, retryable: boolean])[] = [
  ['400', reply(400), 'provider_invalid_request', false],
  [
    '400 for a prompt that is too long (Anthropic)',
    reply(400, { error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000' } }),
    'provider_context_exceeded',
    false,
  ],
  [
    '400 for a prompt that is too long (OpenAI)',
    reply(400, { error: { code: 'context_length_exceeded' } }),
    'provider_context_exceeded',
    false,
  ],
  [
    '400 for an account without credit (Anthropic)',
    reply(400, { error: { type: 'invalid_request_error', message: 'Your credit balance is too low' } }),
    'provider_rate_limited',
    false,
  ],
  ['401', reply(401), 'provider_unauthorized', false],
  ['402', reply(402), 'provider_rate_limited', false],
  ['403', reply(403), 'provider_unauthorized', false],
  ['404', reply(404), 'provider_model_not_found', false],
  ['408', reply(408), 'provider_timeout', true],
  ['409', reply(409), 'provider_error', true],
  ['413', reply(413), 'provider_context_exceeded', false],
  ['422', reply(422), 'provider_invalid_request', false],
  ['429', reply(429), 'provider_rate_limited', true],
  [
    '429 for a quota that is used up',
    reply(429, { error: { code: 'insufficient_quota' } }),
    'provider_rate_limited',
    false,
  ],
  ['500', reply(500), 'provider_error', true],
  ['500 that says overloaded', reply(500, { error: { type: 'overloaded_error' } }), 'provider_overloaded', true],
  ['502', reply(502), 'provider_error', true],
  ['503', reply(503), 'provider_overloaded', true],
  ['504', reply(504), 'provider_timeout', true],
  ['524', reply(524), 'provider_error', true],
  ['529', reply(529), 'provider_overloaded', true],
  ['overload in the stream (Anthropic)', inStream('overloaded_error', 529), 'provider_overloaded', true],
  ['a rate limit in the stream (Anthropic)', inStream('rate_limit_error', 429), 'provider_rate_limited', true],
  ['a failure in the stream (Anthropic)', inStream('api_error', 500), 'provider_error', true],
  [
    'an invalid request in the stream (Anthropic)',
    inStream('invalid_request_error', 400),
    'provider_invalid_request',
    false,
  ],
  ['overload by type alone', inStream('overloaded_error'), 'provider_overloaded', true],
  ['a missing model by type alone', inStream('not_found_error'), 'provider_model_not_found', false],
  [
    'an error chunk (OpenAI)',
    { message: SECRET, type: 'server_error', code: null, param: null },
    'provider_error',
    true,
  ],
  ['an error chunk whose code is a status', { message: SECRET, code: 429 }, 'provider_rate_limited', true],
  ['an error chunk by its code', { message: '', code: 'rate_limit_exceeded' }, 'provider_rate_limited', true],
  ['a nested error', { error: { type: 'overloaded_error', message: SECRET } }, 'provider_overloaded', true],
  ['a string', 'Overloaded', 'provider_overloaded', true],
  [
    'a stream without a finish reason (OpenAI-compatible)',
    new InvalidResponseDataError({ data: undefined, message: 'Response stream ended without a finish reason.' }),
    'provider_stream_cut',
    true,
  ],
  ['an empty reply', new EmptyResponseBodyError(), 'provider_stream_cut', true],
  ['a truncated chunk', new JSONParseError({ text: SECRET, cause: new Error(SECRET) }), 'provider_error', true],
  [
    'a chunk of an unexpected shape',
    new TypeValidationError({ value: { a: SECRET }, cause: new Error(SECRET) }),
    'provider_error',
    true,
  ],
  ['no API key', new LoadAPIKeyError({ message: SECRET }), 'provider_unauthorized', false],
  [
    'an unknown model',
    new NoSuchModelError({ modelId: 'm', modelType: 'languageModel' }),
    'provider_model_not_found',
    false,
  ],
  [
    'an unsupported feature',
    new UnsupportedFunctionalityError({ functionality: SECRET }),
    'provider_invalid_request',
    false,
  ],
  ['a refused connection', coded('ECONNREFUSED'), 'provider_unreachable', true],
  [
    'a refused connection, wrapped by the AI SDK',
    new APICallError({
      message: 'Cannot connect to API: connect ECONNREFUSED',
      url: SECRET,
      requestBodyValues: {},
      cause: coded('ECONNREFUSED'),
      isRetryable: true,
    }),
    'provider_unreachable',
    true,
  ],
  ['an unknown host', new TypeError('fetch failed', { cause: coded('ENOTFOUND') }), 'provider_unreachable', true],
  [
    'a connection closed by the provider',
    new TypeError('terminated', { cause: coded('UND_ERR_SOCKET', 'other side closed') }),
    'provider_stream_cut',
    true,
  ],
  ['a timeout of the headers', coded('UND_ERR_HEADERS_TIMEOUT', 'Headers Timeout Error'), 'provider_timeout', true],
  ['a timeout of a signal', new DOMException('the operation timed out', 'TimeoutError'), 'provider_timeout', true],
  [
    'an abort of the provider’s package',
    new DOMException('This operation was aborted', 'AbortError'),
    'provider_timeout',
    true,
  ],
  ['an unknown error', new Error(SECRET), 'provider_error', false],
  ['undefined', undefined, 'provider_error', false],
  [
    'an unknown error that is marked as retryable',
    Object.assign(new Error(SECRET), { isRetryable: true }),
    'provider_error',
    true,
  ],
]

describe('classifyProviderError', () => {
  for (const [name, error, code, retryable] of CASES) {
    test(`${name}: ${code}${retryable ? ', retryable' : ''}`, () => {
      const found = classifyProviderError(error)
      expect(found).toBeInstanceOf(ProviderError)
      expect({ code: found.code, retryable: found.retryable }).toEqual({ code, retryable })
      expect(found.category).toBe('provider')
      expect(found.cause).toBe(error)
    })
  }

  test('keeps the provider’s text, URL and key out of the message', () => {
    for (const [name, error] of CASES) {
      const { message, name: title } = classifyProviderError(error)
      for (const text of [message, title]) {
        expect(text, name).not.toMatch(/sk-live|https?:|example|own words/)
      }
      expect(JSON.stringify(classifyProviderError(error)), name).not.toContain('sk-live')
    }
  })

  test('keeps the HTTP status of the reply', () => {
    expect(classifyProviderError(reply(529))).toMatchObject({ statusCode: 529 })
    expect(classifyProviderError(inStream('overloaded_error', 529))).toMatchObject({ statusCode: 529 })
    expect(classifyProviderError(new Error('x'))).toMatchObject({ statusCode: undefined })
  })

  test('returns a typed error unchanged', () => {
    const known = new ToolError('no')
    expect(classifyProviderError(known)).toBe(known)
  })
})

describe('converts any thrown value to a ProviderError', () => {
  const MARK = Symbol.for('millrace.error')
  const throwing = () => {
    throw new Error(SECRET)
  }
  const cyclic: { message: string; error?: unknown } = { message: SECRET }
  cyclic.error = cyclic
  const caused = new Error(SECRET)
  caused.cause = caused
  const HOSTILE: Record<string, unknown> = {
    'an object that contains itself': cyclic,
    'an error that is its own cause': caused,
    'a name that every object inherits': Object.assign(new Error(SECRET), { name: 'constructor' }),
    'a name that is not a string': { name: Object.create(null) },
    'a getter of name that throws': Object.defineProperty({}, 'name', { get: throwing }),
    'a getter of message that throws': Object.defineProperty({}, 'message', { get: throwing }),
    'an error with a getter of message that throws': Object.defineProperty(new Error(), 'message', { get: throwing }),
    'a proxy that throws on every access': new Proxy({}, { get: throwing, has: throwing, getPrototypeOf: throwing }),
    'a revoked proxy': (({ proxy, revoke }) => {
      revoke()
      return proxy
    })(Proxy.revocable({}, {})),
    'the mark of MillraceError without its fields': { [MARK]: true },
    'the mark of MillraceError and a getter of code that throws': Object.defineProperty({ [MARK]: true }, 'code', {
      get: throwing,
    }),
    'a symbol': Symbol(SECRET),
    'a function': throwing,
    'a bigint': 1n,
    null: null,
  }
  for (const [name, error] of Object.entries(HOSTILE)) {
    test(name, () => {
      const found = classifyProviderError(error)
      expect(found).toBeInstanceOf(ProviderError)
      expect({ code: found.code, retryable: found.retryable }).toEqual({ code: 'provider_error', retryable: false })
      expect(found.cause === error).toBe(true)
      expect(found.message).not.toContain('sk-live')
    })
  }

  test('searches nested errors only to a maximum depth', () => {
    const nested = (depth: number): unknown =>
      depth === 0 ? { type: 'overloaded_error' } : { error: nested(depth - 1) }
    expect(classifyProviderError(nested(4)).code).toBe('provider_overloaded')
    expect(classifyProviderError(nested(1000)).code).toBe('provider_error')
  })
})

describe('retryAfterMs', () => {
  const retryAfterOf = (headers: Record<string, string>) =>
    (classifyProviderError(reply(429, {}, headers)) as ProviderError).retryAfterMs
  const DAY = 86_400_000

  test('reads seconds and milliseconds, and prefers milliseconds', () => {
    expect(retryAfterOf({ 'retry-after': '3' })).toBe(3000)
    expect(retryAfterOf({ 'retry-after': '0.5' })).toBe(500)
    expect(retryAfterOf({ 'retry-after': '0' })).toBe(0)
    expect(retryAfterOf({ 'retry-after-ms': '250' })).toBe(250)
    expect(retryAfterOf({ 'retry-after-ms': '250', 'retry-after': '3' })).toBe(250)
  })

  test('reads a date, and a past date as 0', () => {
    const soon = retryAfterOf({ 'retry-after': new Date(Date.now() + 60_000).toUTCString() }) ?? 0
    expect(soon).toBeGreaterThan(50_000)
    expect(soon).toBeLessThanOrEqual(60_000)
    expect(retryAfterOf({ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' })).toBe(0)
  })

  test('has an upper limit', () => {
    expect(retryAfterOf({ 'retry-after': '1e12' })).toBe(DAY)
    expect(retryAfterOf({ 'retry-after': 'Infinity' })).toBe(DAY)
    expect(retryAfterOf({ 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' })).toBe(DAY)
  })

  test('ignores malformed values', () => {
    for (const text of ['', ' ', '-5', 'soon', '5s', 'NaN'])
      expect(retryAfterOf({ 'retry-after': text }), text).toBeUndefined()
    expect(retryAfterOf({})).toBeUndefined()
  })
})
