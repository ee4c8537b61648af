import { Agent, request as ask } from 'node:http'
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { multiplied } from '../../../../scripts/faults/campaign.ts'
import { listen } from '../app/test-app.fixture.ts'
import { changedRequests } from './fuzz.fixture.ts'
import {
  AnyErrorSchema,
  framesIn,
  openTwoUserServer,
  SECRETS,
  type TestRequest,
  type TwoUserServer,
} from './two-user-server.fixture.ts'
import { prepareSessions, validRequests } from './valid-requests.fixture.ts'

/** Each round has its own sessions: a session that one round deletes exists in the next. */
const ROUNDS = 4
const RUNS = multiplied(600)
/** Requests at a time. One of them goes over a real socket. */
const AT_ONCE = 10
const STREAMS = 16
/** How long a request over a socket may take on a busy machine. */
const PATIENCE_MS = 30_000
/** Sends a wrong content-length: the server may wait forever for the rest of the body. */
const WRONG_LENGTH_MS = 200
const limits = { requestsPerMinute: 10_000_000, sessions: 100_000, streams: STREAMS }

const agent = new Agent({ keepAlive: true, maxSockets: 8 })
afterAll(() => agent.destroy())

const unhandled: unknown[] = []
const note = (error: unknown) => void unhandled.push(error)
beforeAll(() => void process.on('unhandledRejection', note))
afterAll(() => void process.off('unhandledRejection', note))

/** The reply to a request; only the beginning of a stream. */
interface Outcome {
  readonly status: number
  readonly type: string
  readonly text: string
}

async function inProcess(testServer: TwoUserServer, sent: TestRequest): Promise<Outcome | undefined> {
  let request: Request
  try {
    request = testServer.request(sent)
  } catch {
    // Such a request cannot be constructed.
    return undefined
  }
  const response = await testServer.app.fetch(request)
  const type = response.headers.get('content-type') ?? ''
  const isStream = /event-stream|ndjson/.test(type)
  if (!isStream) return { status: response.status, type, text: await response.text() }
  const reader = response.body?.getReader()
  await reader?.read()
  await reader?.cancel()
  return { status: response.status, type, text: '' }
}

function overSocket(
  port: number,
  { path, method, body, raw, headers, user = 'ann' }: TestRequest,
): Promise<Outcome | undefined> {
  const { promise, resolve } = Promise.withResolvers<Outcome | undefined>()
  const payload = raw instanceof Uint8Array ? raw : body === undefined ? undefined : JSON.stringify(body)
  try {
    const sent = ask({
      port,
      agent,
      path,
      method: method ?? (payload === undefined ? 'GET' : 'POST'),
      headers: { 'content-type': 'application/json', ...(user !== null && { 'x-user': user }), ...headers },
    })
    const isWrongLength = headers?.['content-length'] !== undefined
    sent.setTimeout(isWrongLength ? WRONG_LENGTH_MS : PATIENCE_MS, () => sent.destroy())
    sent.on('error', () => resolve(undefined))
    sent.on('response', response => {
      const { statusCode: status = 0, headers: replyHeaders } = response
      const type = replyHeaders['content-type'] ?? ''
      let text = ''
      response.on('data', data => {
        text += data
        if (/event-stream|ndjson/.test(type)) response.destroy()
      })
      response.on('error', () => {})
      response.on('close', () =>
        resolve({ status, type, text: /json;/.test(type) && !/ndjson/.test(type) ? text : '' }),
      )
    })
    sent.end(payload)
  } catch {
    resolve(undefined)
  }
  return promise
}

function mustBeTyped(sent: TestRequest, { status, type, text }: Outcome): void {
  const sentText = JSON.stringify(sent).slice(0, 300)
  expect([sentText, status >= 200 && status < 500]).toEqual([sentText, true])
  for (const secret of Object.values(SECRETS)) expect([sentText, text.includes(secret)]).toEqual([sentText, false])
  if (status < 400 || text === '') return
  expect([sentText, type]).toEqual([sentText, 'application/json; charset=utf-8'])
  expect([sentText, AnyErrorSchema.safeParse(JSON.parse(text)).success]).toEqual([sentText, true])
  expect([sentText, text.length < 1000]).toEqual([sentText, true])
}

/** How many streams can be opened, up to one more than allowed. */
async function openable(testServer: TwoUserServer): Promise<number> {
  const path = '/api/sessions/stream'
  const tried = Array.from({ length: STREAMS + 1 }, () => testServer.app.fetch(testServer.request({ path })))
  const open = (await Promise.all(tried)).filter(({ status }) => status === 200)
  await Promise.all(open.map(({ body }) => body?.cancel()))
  return open.length
}

it.each(Array.from({ length: ROUNDS }, (_, i) => i + 1))(
  `${RUNS} changed requests get typed replies and leave the server healthy, round %i`,
  async () => {
    const testServer = openTwoUserServer({ limits, stream: { pollMs: 10 } })
    const requests = Object.values(validRequests(await prepareSessions(testServer)))
    const listening = await listen(testServer.app)
    let refused = 0
    let overSockets = 0
    await fc.assert(
      fc.asyncProperty(fc.array(changedRequests(requests), { minLength: AT_ONCE, maxLength: AT_ONCE }), async all => {
        const send = async (sent: TestRequest, at: number) => {
          const outcome = await (at === 0 ? overSocket(listening.port, sent) : inProcess(testServer, sent))
          if (outcome === undefined) return
          if (outcome.status >= 400) refused++
          if (at === 0) overSockets++
          mustBeTyped(sent, outcome)
        }
        await Promise.all(all.map(send))
      }),
      { numRuns: Math.ceil(RUNS / AT_ONCE), endOnFailure: true },
    )
    expect(refused).toBeGreaterThan(RUNS / 3)
    // The others cannot be sent, or have a wrong content-length.
    expect(overSockets).toBeGreaterThan(RUNS / AT_ONCE / 2)
    expect(unhandled).toEqual([])
    // The driver of a deleted session logs that it lost the lease.
    expect(testServer.logged.filter(({ message }) => message !== 'lost the lease of a session')).toEqual([])
    // No stream is left open: as many can be opened as allowed.
    await expect.poll(() => openable(testServer)).toBe(STREAMS)
    // The next requests are served, in process and over a socket.
    const after = await testServer.run('afterwards', { agent: 'echo', input: 'Still there?' })
    expect(framesIn(after).at(-1)).toMatchObject({ type: 'end', status: 'completed' })
    const response = await fetch(`${listening.url}/api/health`, { headers: { 'x-user': 'ann' } })
    expect(await response.json()).toMatchObject({ status: 'ok' })
  },
)
