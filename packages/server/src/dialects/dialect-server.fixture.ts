// A server with a minimal dialect: requests go directly to the turn logic, and events are plain JSON.

import type { ClientMessage, ClientRequest, DecodedChunk, Encoder } from '@millrace/dialects'
import { memoryStore, systemTimers } from '@millrace/log'
import type { Entry } from '@millrace/protocol'
import { agent, type Run, scriptedModel, tool, useInterrupt, workflow } from '@millrace/runtime'
import { onTestFinished, vi } from 'vitest'
import * as z from 'zod'
import { Lifetime } from '../app/lifetime.ts'
import { type MillraceOptions, settingsOf } from '../app/options.ts'
import type { AuthorizeRequest } from '../auth/authorize.ts'
import type { RouteCall } from '../routing/route.ts'
import type { Services } from '../routing/services.ts'
import { programNamed } from '../runs/program.ts'
import { heldAgent } from '../stream/held-agent.fixture.ts'
import { SlowClient } from '../stream/slow-client.fixture.ts'
import { type AcceptedTurn, handleClientRequest, type TurnRequest } from './client-request/handle-client-request.ts'
import type { EventPosition } from './run-stream/event-position.ts'
import { replyWithRequestedRun } from './run-stream/reply-with-requested-run.ts'
import type { DialectFormat } from './run-stream/run-stream.ts'
import { streamRun } from './run-stream/run-stream.ts'

const seller = agent({
  name: 'seller',
  model: scriptedModel(({ turnAnswers }) =>
    turnAnswers < 2
      ? {
          text: `${turnAnswers}.`,
          calls: [
            { name: 'sell', input: { what: 'rye' }, id: `sell-${turnAnswers}` },
            { name: 'locate', input: {}, id: `locate-${turnAnswers}` },
          ],
        }
      : { text: 'Sold.' },
  ),
  tools: [
    tool({
      name: 'sell',
      inputSchema: z.object({ what: z.string() }),
      approval: true,
      execute: ({ what }) => ({ what }),
    }),
    tool({ name: 'locate', inputSchema: z.object({}), client: true }),
  ],
})

const asker = workflow({
  id: 'asker',
  nodes: { ask: async () => ({ data: await useInterrupt({ request: { kind: 'text', question: 'Who?' } }) }) },
  edges: [
    ['start', 'ask'],
    ['ask', 'end'],
  ],
})

export const user = (text: string, id?: string) => ({ id, parts: [{ type: 'text', text } as const] })

/** A request of a client with these user messages; the last one must be answered. */
export const requestWith = (...messages: readonly ClientMessage[]): ClientRequest => ({
  userMessages: messages,
  endsWithUserMessage: true,
  answers: [],
})

/** A request and its caller. */
export interface CallOptions {
  readonly agent?: string
  readonly user?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly runId?: string
}

/** An event of the minimal dialect. */
export type PlainEvent = Record<string, unknown>

/** Encodes every chunk unchanged, and a delta as two events. */
function plainEncoder(): Encoder<PlainEvent> {
  const encode = ({ chunk }: DecodedChunk): PlainEvent[] => {
    if (chunk.type !== 'text-delta') return [{ ...chunk }]
    const half = Math.ceil(chunk.delta.length / 2)
    const { type, id } = chunk
    return [chunk.delta.slice(0, half), chunk.delta.slice(half)].map(delta => ({ type, id, delta }))
  }
  return { encode, resume: () => [{ type: 'resumed' }], end: status => [{ type: 'end', status }] }
}

export const plainFormat: DialectFormat<PlainEvent> = {
  format: 'ndjson',
  hasCursorIds: true,
  framing: {
    contentType: 'application/x-ndjson; charset=utf-8',
    heartbeat: () => Buffer.from('{"type":"heartbeat"}\n'),
    fail: () => undefined,
  },
  write: (event, place) => `${JSON.stringify({ ...event, place })}\n`,
}

/** The events that a client received. */
export const eventsOf = ({ text }: SlowClient): PlainEvent[] =>
  text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))

export const wordsOf = (events: readonly PlainEvent[]): string =>
  events.map(({ type, delta }) => (type === 'text-delta' ? delta : '')).join('')

export class DialectServer {
  readonly services: Services
  readonly lifetime: Lifetime
  readonly held: ReturnType<typeof heldAgent>
  /** Number of model calls. */
  readonly count: { calls: number }
  /** The calls of authorize. */
  readonly authorizeRequests: AuthorizeRequest[]

  constructor(parts: Pick<DialectServer, 'services' | 'lifetime' | 'held' | 'count' | 'authorizeRequests'>) {
    this.services = parts.services
    this.lifetime = parts.lifetime
    this.held = parts.held
    this.count = parts.count
    this.authorizeRequests = parts.authorizeRequests
  }

  /** A request as a route gets it. */
  async call(
    { user: principal = 'ann', headers = {} }: CallOptions = {},
    action: RouteCall['action'] = 'run',
  ): Promise<RouteCall> {
    const { services } = this
    const request = new Request('http://localhost/api/plain', { headers: { 'x-user': principal, ...headers } })
    const caller = await services.authorize(request, action)
    const [bodyBytes, replyBytes] = [services.limiter.countBytes(principal), services.limiter.countBytes(principal)]
    const url = new URL(request.url)
    return { services, request, url, action, params: {}, caller, bodyBytes, replyBytes, query: {}, body: {} }
  }

  turnRequestFor(
    sessionId: string,
    posted: ClientRequest,
    { agent: name = 'teller', runId }: CallOptions = {},
  ): TurnRequest {
    return { sessionId, program: programNamed(this.services, name), posted, runId }
  }

  /** Sends a request and returns the accepted turn. */
  async takeTurn(sessionId: string, posted: ClientRequest, options: CallOptions = {}): Promise<AcceptedTurn> {
    return handleClientRequest(await this.call(options), this.turnRequestFor(sessionId, posted, options))
  }

  /** Sends a request, waits for the end or pause of its run, and returns the run id. */
  async runToEnd(sessionId: string, posted: ClientRequest, options: CallOptions = {}): Promise<string> {
    const { run } = await this.takeTurn(sessionId, posted, options)
    await run.result()
    return run.runId
  }

  /** Sends a request and returns a client that reads the stream. */
  async replyWithTurn(
    sessionId: string,
    posted: ClientRequest,
    options: CallOptions = {},
    client = newClient(),
  ): Promise<SlowClient> {
    const encoding = { dialectFormat: plainFormat, encoder: plainEncoder }
    const reply = await replyWithRequestedRun(
      await this.call(options),
      this.turnRequestFor(sessionId, posted, options),
      encoding,
    )
    if ('stream' in reply) reply.stream(client)
    return client
  }

  /** Reads a run from a position. */
  async streamRun(
    run: Run,
    {
      after,
      client = newClient(),
      dialectFormat = {},
      encoder = plainEncoder(),
    }: {
      after?: EventPosition
      client?: SlowClient
      dialectFormat?: Partial<DialectFormat<PlainEvent>>
      encoder?: Encoder<PlainEvent>
    } = {},
  ): Promise<SlowClient> {
    const call = await this.call({}, 'follow')
    const identity = await this.services.manager.getInfo(run.sessionId)
    if (identity === null) throw new Error('there is no such session')
    const options = {
      run,
      identity,
      encoder,
      dialectFormat: { ...plainFormat, ...dialectFormat },
      after,
    }
    const reply = await streamRun(call, call.caller, options)
    reply.stream(client)
    return client
  }

  run(sessionId: string, runId: string): Run {
    return this.services.runtime.run(sessionId, runId)
  }

  /** All entries of a session. */
  async log(sessionId: string): Promise<readonly Entry[]> {
    const info = await this.services.manager.getInfo(sessionId)
    return info === null ? [] : this.services.manager.entries(sessionId, 0, info.head)
  }

  /** The user messages that a session shows. */
  async userTexts(sessionId: string): Promise<string[]> {
    const { view } = await this.services.runtime.view(sessionId)
    return view.messages.flatMap(({ role, parts }) =>
      role === 'user' ? [parts.map(part => ('text' in part ? part.text : '')).join('')] : [],
    )
  }

  /** Number of runs that started in a session. */
  async runs(sessionId: string): Promise<number> {
    return (await this.log(sessionId)).filter(({ chunk }) => chunk.type === 'run-started').length
  }

  /** The code of the error that refuses a request. @throws if the log changed */
  async refused(sessionId: string, posted: ClientRequest, options: CallOptions = {}): Promise<string> {
    const before = JSON.stringify(await this.log(sessionId))
    const code = await this.takeTurn(sessionId, posted, options).then(
      () => 'none',
      (error: { code?: string }) => error.code ?? String(error),
    )
    if (JSON.stringify(await this.log(sessionId)) !== before)
      throw new Error(`expected an unchanged log, found changes after ${code}`)
    return code
  }
}

/** A client of plain events. */
export const newClient = (): SlowClient => new SlowClient('ndjson', false)

/** A server with its store, closed after the test. */
export async function openDialectServer(options: Partial<MillraceOptions> = {}): Promise<DialectServer> {
  const count = { calls: 0 }
  const authorizeRequests: AuthorizeRequest[] = []
  const held = heldAgent()
  const echo = (name: string) =>
    agent({
      name,
      model: scriptedModel(({ lastText }) => {
        count.calls++
        return { text: `You said ${lastText}` }
      }),
    })
  const appOptions: MillraceOptions = {
    store: memoryStore(),
    agents: [echo('teller'), echo('other'), seller, held.agent],
    workflows: [asker],
    engine: { pollMs: 20, graceMs: 0 },
    authorize: authorizeRequest => {
      authorizeRequests.push(authorizeRequest)
      return authorizeRequest.request.headers.get('x-user')
    },
    ...options,
  }
  const { timers = systemTimers } = appOptions
  const lifetime = new Lifetime(appOptions, settingsOf(appOptions, timers), { warn() {}, error() {} })
  onTestFinished(() => lifetime.close())
  return new DialectServer({ services: await lifetime.ready(), lifetime, held, count, authorizeRequests })
}

/** Waits until a condition holds, however busy the machine is. */
export const eventually = (holds: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(holds, { timeout: 60_000, interval: 5 })

/** The error code of a rejected promise. `none` if it resolves. */
export const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'none',
    (error: { code?: string }) => error.code ?? String(error),
  )
