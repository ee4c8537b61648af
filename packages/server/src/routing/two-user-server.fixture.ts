// A server for two users, with sessions that are active, pending or stopped, and access to all that its store holds.

import { type LogStore, memoryStore } from '@millrace/log'
import { agent, type ScriptedAnswer, scriptedModel, tool, useInterrupt, workflow } from '@millrace/runtime'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import * as z from 'zod'
import { type App, millrace } from '../app/app.ts'
import type { MillraceOptions } from '../app/options.ts'
import { routes } from '../app/routes.ts'
import type { AuthorizeRequest } from '../auth/authorize.ts'
import { dialects } from '../dialects/routes.ts'
import { Router } from './router.ts'
import { ErrorSchema } from './schemas.ts'

/** An error in the shape of a dialect: the message where its clients read it, with the other fields beside. */
const ForeignErrorSchema = z.object({ error: z.string(), code: z.string(), retryable: z.boolean() })

/** The common shape of an error. */
export const AnyErrorSchema = z.union([ErrorSchema, ForeignErrorSchema])

export const ORIGIN = 'http://localhost:4400'

/** Texts that no reply may contain. */
export const SECRETS = { context: 'secret-of-the-context', key: 'secret-of-the-key', store: 'secret-of-the-store' }

const echo = agent({ name: 'echo', model: scriptedModel(({ lastText }) => ({ text: `You said: ${lastText}` })) })

const operator = agent({
  name: 'operator',
  model: scriptedModel(({ turnAnswers }) =>
    turnAnswers === 0
      ? {
          calls: [
            { name: 'send', input: { to: 'ann' }, id: 'call-send' },
            { name: 'choose', input: {}, id: 'call-choose' },
          ],
        }
      : { text: 'Done.' },
  ),
  tools: [
    tool({
      name: 'send',
      inputSchema: z.object({ to: z.string() }),
      approval: true,
      execute: ({ to }) => ({ sent: to }),
    }),
    tool({ name: 'choose', inputSchema: z.object({}), client: true }),
  ],
})

const large = agent({
  name: 'large',
  model: scriptedModel([{ calls: [{ name: 'dump', input: {} }] }, { text: 'There it is.' }]),
  tools: [tool({ name: 'dump', inputSchema: z.object({}), execute: () => 'x'.repeat(100_000) })],
})

export const question = workflow({
  id: 'question',
  nodes: {
    ask: async () => ({ data: await useInterrupt({ request: { kind: 'text', question: 'Who is there?' } }) }),
  },
  edges: [
    ['start', 'ask'],
    ['ask', 'end'],
  ],
})

type Part = NonNullable<ScriptedAnswer['parts']>[number]

const ABORTED = Symbol('aborted')

/** Resolves when the call is aborted. */
const abortOf = (signal: AbortSignal | undefined): Promise<typeof ABORTED> =>
  new Promise(resolve => signal?.addEventListener('abort', () => resolve(ABORTED)))

/** An agent that writes one word, and the second after `go`. `counted.aborts` counts calls that were aborted before. */
function slow() {
  const gate = Promise.withResolvers<void>()
  const inner = scriptedModel([{ text: 'one two' }])
  const counted = { aborts: 0 }
  const model: typeof inner = {
    ...inner,
    async doStream(call) {
      const { stream } = await inner.doStream(call)
      const { abortSignal } = call
      let isFirst = true
      const held = new TransformStream<Part, Part>({
        async transform(part, controller) {
          const isNext = part.type === 'text-delta' && !isFirst
          if (part.type === 'text-delta') isFirst = false
          if (isNext && (await Promise.race([gate.promise, abortOf(abortSignal)])) === ABORTED) {
            counted.aborts++
            controller.error(abortSignal?.reason)
          } else controller.enqueue(part)
        },
      })
      return { stream: stream.pipeThrough(held) }
    },
  }
  return { agent: agent({ name: 'slow', model }), go: gate.resolve, counted }
}

/** A reply, read to its end. */
export interface ReadReply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
}

export interface TestRequest {
  readonly path: string
  readonly method?: string
  readonly body?: unknown
  readonly raw?: BodyInit
  readonly headers?: Readonly<Record<string, string>>
  readonly user?: string | null
}

const router = new Router(routes)

/** A server that is closed after its test. */
export function openTwoUserServer(options: MillraceOptions = {}): TwoUserServer {
  const testServer = new TwoUserServer(options)
  onTestFinished(() => testServer.app.close())
  return testServer
}

/** A server for all tests of a file. */
export function sharedServer<T>(
  prepare: (testServer: TwoUserServer) => Promise<T>,
  options: MillraceOptions = {},
): () => { readonly testServer: TwoUserServer; readonly prepared: T } {
  let all: { readonly testServer: TwoUserServer; readonly prepared: T }
  beforeAll(async () => {
    const testServer = new TwoUserServer(options)
    all = { testServer, prepared: await prepare(testServer) }
  })
  afterAll(() => all.testServer.app.close())
  return () => all
}

/** A server. The header `x-user` names the caller. */
export class TwoUserServer {
  readonly app: App
  readonly store: LogStore
  /** The calls of authorize. */
  readonly authorizeRequests: AuthorizeRequest[] = []
  readonly logged: { readonly message: string; readonly fields: Readonly<Record<string, unknown>> }[] = []
  readonly slow = slow()

  constructor(options: MillraceOptions = {}) {
    const { store = memoryStore() } = options
    this.store = store as LogStore
    const record = (message: string, fields: Readonly<Record<string, unknown>>) =>
      void this.logged.push({ message, fields })
    this.app = millrace({
      agents: [echo, operator, large, this.slow.agent],
      workflows: [question],
      engine: { pollMs: 20, graceMs: 0 },
      backoff: { firstMs: 1, longestMs: 1 },
      logger: { warn: record, error: record },
      authorize: authorizeRequest => {
        this.authorizeRequests.push(authorizeRequest)
        return authorizeRequest.request.headers.get('x-user')
      },
      context: () => ({ token: SECRETS.context }),
      ...options,
      store,
    })
  }

  /** A request, by ann unless another user is named. */
  request({ path, method, body, raw, headers = {}, user = 'ann' }: TestRequest): Request {
    const isBody = body !== undefined || raw !== undefined
    const isJson = raw === undefined && (isBody || (method !== undefined && ['POST', 'PATCH'].includes(method)))
    return new Request(path.startsWith('http') ? path : `${ORIGIN}${path}`, {
      method: method ?? (isBody ? 'POST' : 'GET'),
      headers: {
        ...(isJson && { 'content-type': 'application/json' }),
        ...(user !== null && { 'x-user': user }),
        authorization: SECRETS.key,
        ...headers,
      },
      ...(isBody && { body: raw ?? JSON.stringify(body) }),
      ...(raw instanceof ReadableStream && { duplex: 'half' }),
    } as RequestInit)
  }

  /** Sends a request and reads the reply. JSON replies must match the schema of the route. */
  async send(sent: TestRequest): Promise<ReadReply> {
    const request = this.request(sent)
    const response = await this.app.fetch(request)
    const reply = await readReply(response)
    assertMatchesSchema(request, reply)
    return reply
  }

  /** Sends a request with a body to a session. */
  async post(path: string, body: unknown, more: Partial<TestRequest> = {}): Promise<Record<string, unknown>> {
    const { json, text, status } = await this.send({ path, body, ...more })
    if (status >= 400) throw new Error(`${path}: ${status} ${text}`)
    return json as Record<string, unknown>
  }

  /** Starts a run and waits for its end or pause. */
  async run(sessionId: string, body: object, user = 'ann'): Promise<ReadReply> {
    const path = `/api/sessions/${encodeURIComponent(sessionId)}/runs`
    return this.send({ path, body, user, headers: { accept: 'application/x-ndjson' } })
  }

  /** All content of the store, as text. */
  async storeContent(): Promise<string> {
    const logs: unknown[] = []
    for (const principal of ['ann', 'bob', null]) {
      const { streams } = await this.store.list(principal, 1000)
      for (const { streamId } of streams.toSorted((a, b) => (a.streamId < b.streamId ? -1 : 1))) {
        const page = await this.store.read(streamId, { sequence: 0 }, { batches: 10_000, bytes: 100_000_000 })
        const { clock, lease, ...rest } = page ?? {}
        logs.push({ principal, streamId, ...rest })
      }
    }
    return JSON.stringify(logs)
  }
}

/** A reply, read to its end. */
async function readReply(response: Response): Promise<ReadReply> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text ? JSON.parse(text) : undefined,
  }
}

/** @throws if a reply does not match the schema of its route exactly */
function assertMatchesSchema({ method, url }: Request, { status, json }: ReadReply): void {
  if (json === undefined || method === 'HEAD') return
  const { pathname } = new URL(url)
  const found = status < 400 ? router.find(method, pathname.slice(pathname.indexOf('/api') + 4)) : undefined
  const { route } = found ?? {}
  const errorSchema = isNative(pathname) ? ErrorSchema : AnyErrorSchema
  const schema = status < 400 ? route?.replies?.[status] : errorSchema
  if (schema) assertSameJson(schema.parse(json), json)
  else if (route?.otherReplies?.[status] !== 'application/json') {
    throw new Error(`${method} ${pathname}: status ${status} is not declared`)
  }
}

/** Whether a path belongs to no dialect. */
const isNative = (pathname: string): boolean =>
  !dialects.some(({ path }) => pathname.includes(`/api/${path.split('/')[1]}/`))

function assertSameJson(parsed: unknown, json: unknown): void {
  const [reply, known] = [JSON.stringify(json), JSON.stringify(parsed)]
  if (reply.length !== known.length)
    throw new Error(`the reply reveals more than allowed: ${reply} instead of ${known}`)
}

/** The frames of an NDJSON reply. */
export const framesIn = ({ text }: ReadReply): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => JSON.parse(line))
