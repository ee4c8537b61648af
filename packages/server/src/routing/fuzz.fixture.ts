// Mutated requests: each valid request is changed in one or two places, by a seed.

import * as fc from 'fast-check'
import type { TestRequest } from './two-user-server.fixture.ts'
import type { ValidRequest } from './valid-requests.fixture.ts'

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'HEAD', 'OPTIONS', 'PROPFIND', 'QUERY', 'post']
const NAMES = [
  'mine',
  'waiting',
  'asking',
  'large',
  'stopped',
  'nobody',
  'stream',
  'a b',
  '..',
  '%2e%2e',
  '%00',
  '%zz',
  '',
  'ä',
]
const TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json; charset=x',
  'application/json, text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'multipart/form-data',
  'text/plain',
  'text/event-stream',
  'application/x-ndjson',
  'application/octet-stream',
  'application/xml',
  'image/png',
  '*/*',
  ';',
  '',
]
const ENCODINGS = ['gzip', 'identity', 'br, gzip', 'x']
const SITES = ['same-origin', 'none', 'same-site', 'cross-site', 'SAME-ORIGIN', '']
const ORIGINS = ['null', 'https://evil.example', 'http://localhost:4400', 'http://localhost:5173', 'x']
const ACCEPTS = ['*/*', 'application/json', 'application/x-ndjson', 'text/event-stream', 'text/html', ';q', 'a/b;q=x']

/** Lists in lists, `depth` levels deep. */
function nested(depth: number): unknown {
  let value: unknown = 0
  for (let level = 0; level < depth; level++) value = [value]
  return value
}

const anyValue = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom<unknown>(
    'r1',
    'r2',
    'm1',
    'echo',
    'operator',
    'r2::call-send',
    'call-choose',
    'x'.repeat(300_000),
    Array.from({ length: 20_000 }, () => 0),
    Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`k${n}`, n])),
    nested(63),
    nested(1_000),
    { toString: 1, constructor: { prototype: 1 } },
    'upload:../../etc/passwd',
    0,
    -1,
    1e300,
    true,
    null,
    [],
    {},
  ),
)

/** One change of a request. */
type Change = (sent: TestRequest) => TestRequest

const fieldsOf = (body: unknown): Record<string, unknown> =>
  typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.constantFrom(...METHODS).map(
    (method): Change =>
      sent => ({ ...sent, method }),
  ),
  fc.constantFrom(...NAMES).map(
    (name): Change =>
      sent => ({
        ...sent,
        path: sent.path.replace(/(\/api\/sessions\/)[^/?]+/, `$1${name}`),
      }),
  ),
  fc
    .tuple(
      fc.constantFrom('after', 'live', 'merge', 'run', 'limit', 'messages', 'before', 'session', 'x'),
      fc.string({ maxLength: 12 }),
    )
    .map(
      ([name, value]): Change =>
        sent => ({
          ...sent,
          path: `${sent.path}${sent.path.includes('?') ? '&' : '?'}${name}=${encodeURIComponent(value.toWellFormed())}`,
        }),
    ),
  fc.tuple(fc.nat(200), fc.string({ maxLength: 5 })).map(
    ([at, text]): Change =>
      sent => {
        const index = Math.min(sent.path.length, '/api'.length + at)
        return { ...sent, path: `${sent.path.slice(0, index)}${text.toWellFormed()}${sent.path.slice(index)}` }
      },
  ),
  fc.tuple(fc.nat(9), anyValue).map(
    ([at, value]): Change =>
      sent => {
        const fields = Object.keys(fieldsOf(sent.body))
        const field = fields[at % Math.max(1, fields.length)] ?? 'agent'
        return { ...sent, body: { ...fieldsOf(sent.body), [field]: value } }
      },
  ),
  fc.tuple(fc.string({ maxLength: 10 }), anyValue).map(
    ([key, value]): Change =>
      sent => ({ ...sent, body: { ...fieldsOf(sent.body), [key]: value } }),
  ),
  fc.nat(9).map(
    (at): Change =>
      sent => {
        const rest = Object.entries(fieldsOf(sent.body)).filter((_, i) => i !== at)
        return { ...sent, body: Object.fromEntries(rest) }
      },
  ),
  anyValue.map(
    (body): Change =>
      sent => ({ ...sent, body }),
  ),
  fc.tuple(fc.nat(400), fc.uint8Array({ maxLength: 6 })).map(
    ([at, bytes]): Change =>
      ({ body, ...sent }) => {
        const text = Buffer.from(JSON.stringify(body ?? {}))
        const index = at % (text.length + 1)
        const raw = Buffer.concat([text.subarray(0, index), bytes, text.subarray(index + 1)])
        return { ...sent, raw, headers: { 'content-type': 'application/json', ...sent.headers } }
      },
  ),
  fc.constantFrom(...ACCEPTS).map(
    (accept): Change =>
      sent => ({ ...sent, headers: { ...sent.headers, accept } }),
  ),
  fc.constantFrom(...TYPES).map(
    (type): Change =>
      sent => ({ ...sent, headers: { ...sent.headers, 'content-type': type } }),
  ),
  // A form of another page, with or without fields.
  fc
    .tuple(
      fc.constantFrom(...TYPES),
      fc.constantFrom('', 'a=b', '--x--\r\n', '{}', '\ufeff{}', '{"__proto__":{"a":1}}'),
    )
    .map(
      ([type, raw]): Change =>
        ({ body, ...sent }) => ({ ...sent, raw, headers: { ...sent.headers, 'content-type': type } }),
    ),
  fc.constantFrom(...ENCODINGS).map(
    (encoding): Change =>
      sent => ({ ...sent, headers: { ...sent.headers, 'content-encoding': encoding } }),
  ),
  fc.constantFrom(...SITES).map(
    (site): Change =>
      sent => ({ ...sent, headers: { ...sent.headers, 'sec-fetch-site': site } }),
  ),
  fc.constantFrom(...ORIGINS).map(
    (origin): Change =>
      sent => ({ ...sent, headers: { ...sent.headers, origin } }),
  ),
  fc.constantFrom('bob', null).map(
    (user): Change =>
      sent => ({ ...sent, user }),
  ),
  fc
    .tuple(
      fc.constantFrom(
        'last-event-id',
        'x-resume-from-sequence',
        'x-existing-message-id',
        'content-length',
        'x-filename',
        'origin',
        'host',
      ),
      fc.string({ maxLength: 20 }),
    )
    .map(
      ([name, value]): Change =>
        sent => ({ ...sent, headers: { ...sent.headers, [name]: encodeURI(value.toWellFormed()) } }),
    ),
)

/** A valid request with one or more changes. */
export const changedRequests = (requests: readonly Omit<ValidRequest, 'status'>[]): fc.Arbitrary<TestRequest> =>
  fc
    .tuple(fc.constantFrom(...requests), fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([{ status, isLive, ...sent }, changes]: [Partial<ValidRequest>, readonly Change[]]) =>
      changes.reduce((request, change) => change(request), sent as TestRequest),
    )
