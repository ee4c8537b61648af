// Clients of TanStack AI since 0.10: they post what AG-UI has clients post, go on with a stream that broke from the last id that they saw, and read a session again when a page is opened.

import { type AgUiEvent, aguiMessagesOf } from '@millrace/dialects/ag-ui'
import {
  TanstackAgUiEncoder,
  type TanstackAgUiEncoderOptions,
  tanstackInterruptsOf,
  tanstackMessagesOf,
} from '@millrace/dialects/tanstack'
import { isDecision, postedOfInput, type RunAgentInput } from '@millrace/dialects/tanstack/schemas'
import type { Entry } from '@millrace/protocol'
import { Refusal } from '../../errors/refusal.ts'
import { accepted } from '../../http/accept.ts'
import { json, type Reply } from '../../http/reply.ts'
import type { Call } from '../../routing/route.ts'
import { programNamed } from '../../runs/program.ts'
import { activeRunId, knownRun } from '../../runs/target-run.ts'
import { enter } from '../../sessions/session-access.ts'
import { unlessTrimmed } from '../../sessions/unless-trimmed.ts'
import { CONTENT_TYPES, type Format } from '../../stream/format.ts'
import { mustHold, type Place, placeIn } from '../run-stream/event-position.ts'
import { wholeMessages } from '../run-stream/inline-blobs.ts'
import { withRoom } from '../run-stream/reply-with-turn.ts'
import { spoken, type Tongue } from '../run-stream/run-stream.ts'
import { entrance } from '../turn/caller-in-session.ts'
import { sessionNameOf } from '../turn/names.ts'
import { cancelled, dataOf } from '../turn/run-agent-input.ts'
import { type Taken, take } from '../turn/turn.ts'

/** What such a client may say in the query. */
export interface CurrentQuery {
  readonly format?: Format | undefined
  readonly threadId?: string | undefined
  readonly runId?: string | undefined
  readonly offset?: string | undefined
}

/** Does what a client asks for, once, and says it in events. */
export async function spokenAsEvents(call: Call<RunAgentInput, CurrentQuery>): Promise<Reply> {
  const { services, params, body, request } = call
  const { threadId, runId, parentRunId, messages } = body
  const format = formatOf(call)
  const place = placeOf('Last-Event-ID', request.headers.get('last-event-id'))
  const program = programNamed(services, params['agent'] as string)
  const sessionId = sessionNameOf(threadId)
  const ask = { sessionId, program, posted: postedOfInput(body), runId, data: dataOf(body) }
  const echo = { threadId, runId, ...(parentRunId !== undefined && { parentRunId }) }
  const results = new Set(
    messages.flatMap(message => (message.toolCallId && !isDecision(message) ? [message.toolCallId] : [])),
  )
  // Clients that can be asked by an outcome say the name of the run twice.
  const asks = request.headers.has('x-run-id') ? 'outcome' : 'events'
  return withRoom(call, async release => {
    // Who goes on from a place that is not here has lost something, and nothing is done for them.
    if (place) {
      const entered = await enter(services, await entrance(call, sessionId, program), sessionId)
      await mustHold(services.manager, sessionId, entered, place)
    }
    const taken = (await cancelled(call, body, program)) ?? (await take(call, ask))
    const options = { echo, results, asks, isContinued: place !== undefined } as const
    return said(call, { ...taken, after: place ?? taken.after, release }, format, options)
  })
}

/** A run from its start, or from a place on, for who names it; and else what there is of a session. */
export async function readAgain(call: Call<undefined, CurrentQuery>): Promise<Reply> {
  const { services, params, query, request } = call
  programNamed(services, params['agent'] as string)
  if (query.runId === undefined) return hydrated(call)
  const format = formatOf(call)
  const found = runIn(query.runId)
  // A name may have an @ of its own: who says the session as well means that one.
  const named = query.threadId === undefined || found?.sessionId === query.threadId ? found : undefined
  const sessionId = named?.sessionId ?? query.threadId
  if (sessionId === undefined)
    throw new Refusal('request_invalid', 'threadId: expected the session of the run, which its name does not say')
  const runId = named?.runId ?? query.runId
  const { offset } = query
  const place = placeOf('Last-Event-ID', request.headers.get('last-event-id')) ?? placeOf('offset', offset ?? null)
  const caller = await entrance(call, sessionId)
  const entered = await enter(services, caller, sessionNameOf(sessionId))
  const run = await knownRun(services, sessionId, runId)
  const echo = { threadId: sessionId, runId: query.runId }
  const { action } = call
  return said(call, { run, caller, entered, action, after: place }, format, { echo, isContinued: place !== undefined })
}

async function hydrated(call: Call<undefined, CurrentQuery>): Promise<Reply> {
  const { services, query, request } = call
  const { threadId } = query
  if (threadId === undefined) throw new Refusal('request_invalid', 'threadId: expected the name of a session')
  accepted(request.headers.get('accept'), ['json'])
  const sessionId = sessionNameOf(threadId)
  const caller = await entrance(call, sessionId)
  const info = await services.manager.getInfo(sessionId)
  // Of what is somebody else's they are told what they are told of nothing.
  if (info === null || info.principal !== caller.owner)
    return json(200, { messages: [], activeRun: null, interrupts: null })
  const { view, ticket } = await services.runtime.view(sessionId)
  const runId = activeRunId(ticket)
  const name = runId === undefined ? undefined : nameIn(sessionId, runId)
  // What its client is to run it runs only where it hears of it: it joins such a run also while that waits.
  const isAsking = ticket.run?.paused === true && !view.pendings.some(({ kind }) => kind === 'client-tool')
  // Under the name that the client is given: it takes no answer to what another run asks.
  const pending = isAsking && name !== undefined ? tanstackInterruptsOf(view, name) : []
  const isActive = name !== undefined && pending.length === 0
  // What is under way is said again from its start.
  const shown = isActive ? view.messages.filter(message => message.runId !== runId) : view.messages
  const messages = await wholeMessages(services.manager, sessionId, shown)
  const { output } = view
  return json(200, {
    messages: tanstackMessagesOf({ messages, ...(!isActive && output !== undefined && { output }) }),
    activeRun: isActive ? { runId: name } : null,
    interrupts: pending.length > 0 ? { runId: name, pending } : null,
  })
}

function said(
  call: Call,
  { caller, ...taken }: Taken & { readonly release?: () => void },
  format: Format,
  options: TanstackAgUiEncoderOptions,
): Promise<Reply> {
  const { run } = taken
  const { manager } = call.services
  const { sessionId, runId } = run
  const encoder = new TanstackAgUiEncoder({ ...options, runId })
  // What was there before the run is in the client, which is told of it again only where something is taken back.
  const follow = (sequence: number) =>
    unlessTrimmed(async () => {
      const { view } = await manager.view(sessionId, sequence - 1)
      const messages = await wholeMessages(manager, sessionId, view.messages)
      encoder.follows({ messages: aguiMessagesOf({ messages }), isNew: false })
    })
  const before = ({ chunk, sequence, origin }: Entry) =>
    chunk.type === 'run-started' && origin.runId === runId ? follow(sequence) : undefined
  return spoken(call, caller, { ...taken, encoder, tongue: TONGUES[format], before })
}

const tongueOf = (format: Format): Tongue<AgUiEvent> => ({
  format,
  voice: {
    contentType: CONTENT_TYPES[format],
    heartbeat: () => Buffer.from(format === 'sse' ? ': keep-alive\n\n' : '\n'),
    // Its clients come back to a connection that broke.
    fail: () => undefined,
  },
  proves: true,
  write: (event, id) =>
    format === 'sse'
      ? `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`
      : `{"id":"${id}","chunk":${JSON.stringify(event)}}\n`,
})

const TONGUES = { sse: tongueOf('sse'), ndjson: tongueOf('ndjson') }

const formatOf = ({ query, request }: Call<unknown, CurrentQuery>): Format =>
  query.format ?? accepted(request.headers.get('accept'), ['sse', 'ndjson'])

/** A name that tells of a run in which session it is: who joins it says no more than that. */
const nameIn = (sessionId: string, runId: string): string => `${runId}@${encodeURIComponent(sessionId)}`

function runIn(name: string): { readonly runId: string; readonly sessionId: string } | undefined {
  const at = name.lastIndexOf('@')
  if (at < 1) return undefined
  try {
    return { runId: name.slice(0, at), sessionId: decodeURIComponent(name.slice(at + 1)) }
  } catch {
    return undefined
  }
}

/** The place that a client names, if it does; `-1` is before everything. */
const placeOf = (what: string, id: string | null): Place | undefined => (id === '-1' ? undefined : placeIn(what, id))
