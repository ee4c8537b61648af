// Invalid requests for every route, derived from its valid request.

import { routes } from '../app/routes.ts'
import { DEFAULT_LIMITS } from '../auth/limits.ts'
import { bodyLimitOf, type Route } from './route.ts'
import type { TestRequest } from './two-user-server.fixture.ts'
import type { ValidRequest } from './valid-requests.fixture.ts'

/** An invalid request and the expected error. */
export interface InvalidRequest extends TestRequest {
  readonly label: string
  readonly status: number
  readonly code?: string
}

/** A text too long to appear in a message. */
export const LONG = 'Z'.repeat(1000)

/** Requests that every route refuses. */
export function invalidRequestsFor(route: Route, valid: ValidRequest): InvalidRequest[] {
  return [
    ...commonInvalidRequestsFor(route, valid),
    ...(route.body ? requestsWithInvalidFields(valid) : []),
    ...requestsWithInvalidQueries(route, valid),
    ...requestsWithInvalidHeaders(route, valid),
  ]
}

/** Requests that every route refuses, including dialect routes with their open bodies. */
export function commonInvalidRequestsFor(route: Route, valid: ValidRequest): InvalidRequest[] {
  return [
    ...requestsWithInvalidMethods(route, valid),
    ...(route.path.includes(':') ? requestsWithInvalidPaths(route, valid) : []),
    ...(route.body ? requestsWithInvalidBodies(route, valid) : []),
  ]
}

function requestsWithInvalidMethods({ path: pattern }: Route, { path }: ValidRequest): InvalidRequest[] {
  const onPath = routes.filter(other => other.path === pattern)
  const isKnown = (method: string) =>
    onPath.some(route => route.method === method || (method === 'HEAD' && route.method === 'GET' && !route.streams))
  return METHODS.filter(method => !isKnown(method)).map(method => ({
    label: `method ${method}`,
    path: pathOf(path),
    method,
    status: 405,
    ...(method !== 'HEAD' && { code: 'method_unknown' }),
  }))
}

const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS', 'PROPFIND']

const pathOf = (path: string): string => path.split('?', 1)[0] as string

function requestsWithInvalidPaths({ path: pattern }: Route, { status: _, ...valid }: ValidRequest): InvalidRequest[] {
  const session = (name: string) => withSessionId(pattern, valid.path, name)
  const names: Readonly<Record<string, string>> = {
    'a zero byte': '%00',
    'a line break': 'a%0d%0aset-cookie:%20x',
    'half an escape': '%zz',
    'an escape that ends': '%',
    'a lone surrogate': '%ED%A0%80',
    'an overlong slash': '%C0%AF',
    'a long name': 'a'.repeat(257),
    'a very long name': 'a'.repeat(20_000),
    'a control character': 'a%7Fb',
    // At the end of a path it is valid.
    ...(pattern !== '/sessions/:sessionId' && { 'the name of something else': 'stream' }),
  }
  const invalid = Object.entries(names).map(([label, name]) => ({
    ...valid,
    label: `path with ${label}`,
    path: session(name),
    status: 400,
    code: 'request_invalid',
  }))
  const unknownPaths = [
    session(''),
    `${pathOf(valid.path)}/`,
    `${pathOf(valid.path)}/a/..%2f/b`,
    `/api/${pathOf(valid.path)}`,
  ].map(path => ({
    ...valid,
    label: `path ${path.slice(0, 40)}`,
    path,
    status: 404,
  }))
  return pattern.includes(':sessionId') ? [...invalid, ...unknownPaths] : []
}

/** A path with another session id. */
function withSessionId(pattern: string, path: string, name: string): string {
  const at = `/api${pattern}`.split('/').indexOf(':sessionId')
  const [pathname = '', ...query] = path.split('?')
  return [pathname.split('/').with(at, name).join('/'), ...query].join('?')
}

const deep = (levels: number): string => `${'{"data":'.repeat(levels)}1${'}'.repeat(levels)}`

/** A valid request with another body. */
const withBody =
  ({ status: _, body: __, ...valid }: ValidRequest) =>
  (raw: BodyInit, headers: Readonly<Record<string, string>> = {}) => ({
    ...valid,
    raw,
    method: valid.method ?? 'POST',
    headers: { 'content-type': 'application/json', ...valid.headers, ...headers },
  })

/** A body as text, and the part that can follow another field. */
function jsonPartsOf(body: unknown): { readonly json: string; readonly rest: string } {
  const json = JSON.stringify(body)
  const [, rest = ''] = /^\{(.*)\}$/s.exec(json) ?? []
  return { json, rest: rest === '' ? '' : `,${rest}` }
}

/** Bodies with unknown fields, and with known fields of a wrong type. */
export function requestsWithInvalidFields(valid: ValidRequest): InvalidRequest[] {
  const text = withBody(valid)
  const { rest } = jsonPartsOf(valid.body)
  const bodies: Readonly<Record<string, string>> = {
    'a field that is unknown': `{"${LONG}":1${rest}}`,
    'a key called __proto__': `{"__proto__":{"isAdmin":true}${rest}}`,
    'a key called constructor': `{"constructor":{"prototype":{"isAdmin":true}}${rest}}`,
    'a key called toString': `{"toString":"x"${rest}}`,
  }
  return [
    ...Object.entries(bodies).map(([label, raw]) => ({
      ...text(raw),
      label: `body of ${label}`,
      status: 400,
      code: 'body_invalid',
    })),
    ...wrongTypes(valid.body as object).map(([label, wrong]) => ({
      ...text(JSON.stringify(wrong)),
      label: `body with ${label}`,
      status: 400,
    })),
  ]
}

function requestsWithInvalidBodies(route: Route, valid: ValidRequest): InvalidRequest[] {
  const text = withBody(valid)
  const { json, rest } = jsonPartsOf(valid.body)
  const bodies: Readonly<Record<string, BodyInit>> = {
    'half a document': '{"agent":',
    'no JSON': 'agent=echo',
    'two documents': `${json}${json}`,
    'a trailing comma': '{"agent":"echo",}',
    NaN: '{"agent":NaN}',
    'no UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
    null: 'null',
    'a number': '5',
    'a text': `"${LONG}"`,
    'an array': `[${json}]`,
    'deep nesting': deep(65),
    'very deep nesting': '['.repeat(100_000),
    'deep nesting in a field': `{"data":${deep(70)}${rest}}`,
  }
  return [
    ...Object.entries(bodies).map(([label, raw]) => ({
      ...text(raw),
      label: `body of ${label}`,
      status: 400,
      code: 'body_invalid',
    })),
    { ...text(json, { 'content-type': 'text/plain' }), label: 'text', status: 415, code: 'media_type_unknown' },
    { ...text(json, { 'content-type': 'application/x-www-form-urlencoded' }), label: 'a form', status: 415 },
    { ...text(json, { 'content-type': 'multipart/form-data; boundary=x' }), label: 'a form in parts', status: 415 },
    { ...text(json, { 'content-type': 'application/json; charset=utf-16' }), label: 'another charset', status: 415 },
    { ...text(json, { 'content-type': 'application/jsonp' }), label: 'nearly JSON', status: 415 },
    { ...text(json, { 'content-encoding': 'gzip' }), label: 'an encoding', status: 415 },
    {
      ...text(`{"title":"${'Z'.repeat(bodyLimitOf(route, DEFAULT_LIMITS))}"}`),
      label: 'a huge body',
      status: 413,
      code: 'body_too_large',
    },
    { ...text(endless()), label: 'a body without an end', status: 413, code: 'body_too_large' },
    { ...text('{}', { 'content-length': '99999999' }), label: 'a length that is too much', status: 413 },
  ]
}

/** An endless body without a length. */
function endless(): ReadableStream<Uint8Array> {
  const piece = new Uint8Array(64 * 1024).fill(0x20)
  return new ReadableStream({ pull: controller => controller.enqueue(piece) })
}

/** A body with each field in turn of a wrong type. */
function wrongTypes(body: object): [string, object][] {
  const free = ['data', 'value', 'output', 'metadata']
  const fields = Object.entries(body).filter(([field]) => !free.includes(field))
  return fields.flatMap(([field, value]): [string, object][] => {
    const wrong: unknown[] = [null, [LONG], { wrong: LONG }, typeof value === 'number' ? '1' : 7]
    if (typeof value === 'string' && !['reason', 'title', 'input', 'message'].includes(field)) {
      wrong.push('', `a\u0000b`, '\ud800', 'Z'.repeat(600))
    }
    return wrong.map((bad, at) => [`${field} wrong (${at})`, { ...body, [field]: bad }])
  })
}

function requestsWithInvalidQueries(
  { path: pattern, query = {} }: Route,
  { status: _, ...valid }: ValidRequest,
): InvalidRequest[] {
  const path = pathOf(valid.path)
  const refused = (search: string, code = 'request_invalid'): InvalidRequest => ({
    ...valid,
    label: `query ${search.slice(0, 40)}`,
    path: `${path}?${search}`,
    status: 400,
    code,
  })
  const requests: InvalidRequest[] = []
  if (pattern === '/sessions') {
    if ('limit' in query)
      requests.push(...['0', '-1', '1e2', '201', 'ten', '', '99999999'].map(limit => refused(`limit=${limit}`)))
    if ('after' in query)
      requests.push(...['x', '%00', LONG].map(after => refused(`after=${after}`, 'validation_failed')))
  }
  if ('messages' in query)
    requests.push(...['1', 'last:0', 'last:1001', 'first:1', LONG].map(page => refused(`messages=${page}`)))
  if ('before' in query) requests.push(refused('before=m1'), refused(`messages=last:1&before=${LONG}`))
  if ('merge' in query)
    requests.push(
      refused('session=mine&merge=1'),
      refused('session=mine&merge='),
      refused('session=mine&merge=true&merge=true'),
    )
  if ('whole' in query) requests.push(refused('session=mine&whole=1'), refused('session=mine&whole='))
  if ('whole' in query && 'run' in query) requests.push(refused('run=r1&whole=true'))
  if ('live' in query)
    requests.push(...['yes', '', 'long'].map(live => refused(`live=${live}`)), refused('run=r1&live=false'))
  if ('run' in query)
    requests.push(refused('run='), refused('run=a%00b'), refused(`run=${LONG}`), {
      ...refused('run=nobody', 'run_unknown'),
      status: 404,
    })
  if (pattern.endsWith('/stream') && 'after' in query) {
    const cursors = ['x', '-1', '1.5', '1.a', '1.a.b.c', '99999999999999999999', '01', ' 1', LONG.repeat(2)]
    requests.push(...cursors.map(after => refused(`session=mine&after=${after}`, 'cursor_invalid')))
  }
  if ('session' in query) {
    const many = Array.from({ length: 101 }, (_, i) => `session=s${i}`).join('&')
    requests.push(refused(''), refused('session='), refused('session=a%00'), refused(`session=${LONG}`), refused(many))
    requests.push(
      refused('session=mine&session=mine'),
      refused('after=1&session=mine'),
      refused('session=mine&after=1&after=2'),
    )
  }
  // Parameters that are not lists are allowed once.
  const once = Object.entries(query).filter(([, { type }]) => type !== 'array')
  requests.push(...once.map(([name]) => refused(`${name}=1&${name}=1`)))
  return requests
}

function requestsWithInvalidHeaders(
  { streams, path: pattern }: Route,
  { status: _, ...valid }: ValidRequest,
): InvalidRequest[] {
  const refused = (headers: Readonly<Record<string, string>>, status: number, code: string): InvalidRequest => ({
    ...valid,
    label: `headers ${JSON.stringify(headers).slice(0, 60)}`,
    headers: { ...valid.headers, ...headers },
    status,
    code,
  })
  const requests: InvalidRequest[] = []
  if (streams) {
    const wanted = ['text/html', 'image/png', 'application/xml;q=1', 'text/event-stream;q=0', LONG]
    requests.push(...wanted.map(accept => refused({ accept }, 406, 'not_acceptable')))
  }
  if (pattern === '/sessions/:sessionId/stream') {
    const path = pathOf(valid.path)
    for (const header of ['x-resume-from-sequence', 'last-event-id']) {
      for (const eventId of ['x', '-1', '1.a', LONG])
        requests.push({ ...refused({ [header]: eventId }, 400, 'cursor_invalid'), path })
    }
    requests.push(refused({ 'x-existing-message-id': 'nobody' }, 409, 'message_unknown'))
    requests.push(refused({ 'x-existing-message-id': LONG }, 409, 'message_unknown'))
  }
  return requests
}
