// TanStack AI clients since 0.10: they post requests of AG-UI, resume a broken stream from the last event id, and read the session when a page opens.

import { type AgUiEvent, aguiMessagesOf } from '@millrace/dialects/ag-ui'
import {
  TanstackAgUiEncoder,
  type TanstackAgUiEncoderOptions,
  tanstackInterruptsOf,
  tanstackMessagesOf,
} from '@millrace/dialects/tanstack'
import { clientRequestOfInput, isDecision, type RunAgentInput } from '@millrace/dialects/tanstack/schemas'
import type { Entry } from '@millrace/protocol'
import { HttpError } from '../../errors/http-error.ts'
import { negotiate } from '../../http/accept.ts'
import { json, type Reply } from '../../http/reply.ts'
import type { RouteCall } from '../../routing/route.ts'
import { programNamed } from '../../runs/program.ts'
import { activeRunId, knownRun } from '../../runs/target-run.ts'
import { findSession, requireSession } from '../../sessions/session-access.ts'
import { unlessTrimmed } from '../../sessions/unless-trimmed.ts'
import { CONTENT_TYPES, type Format } from '../../stream/format.ts'
import { callerInSession } from '../client-request/caller-in-session.ts'
import { type AcceptedTurn, handleClientRequest } from '../client-request/handle-client-request.ts'
import { checkSessionId } from '../client-request/names.ts'
import { dataOf, stopCancelledRun } from '../client-request/run-agent-input.ts'
import { assertPositionInLog, type EventPosition, eventPositionIn } from '../run-stream/event-position.ts'
import { whileStreaming, withInlineBlobs } from '../run-stream/inline-blobs.ts'
import { withStreamSlot } from '../run-stream/reply-with-requested-run.ts'
import { type DialectFormat, streamRun } from '../run-stream/run-stream.ts'

/** Query parameters of these clients. */
export interface EventsQuery {
  readonly format?: Format | undefined
  readonly threadId?: string | undefined
  readonly runId?: string | undefined
  readonly offset?: string | undefined
}

/** Performs a client's request exactly once and streams its run as events. */
export async function replyWithEvents(call: RouteCall<RunAgentInput, EventsQuery>): Promise<Reply> {
  const { services, params, body, request } = call
  const { threadId, runId, parentRunId, messages } = body
  const format = formatOf(call)
  const position = positionOf('Last-Event-ID', request.headers.get('last-event-id'))
  const program = programNamed(services, params['agent'] as string)
  const sessionId = checkSessionId(threadId)
  const turnRequest = { sessionId, program, posted: clientRequestOfInput(body), runId, data: dataOf(body) }
  const echo = { threadId, runId, ...(parentRunId !== undefined && { parentRunId }) }
  const results = new Set(
    messages.flatMap(message => (message.toolCallId && !isDecision(message) ? [message.toolCallId] : [])),
  )
  // Clients that support interrupts as an outcome also send the run id as a header.
  const asks = request.headers.has('x-run-id') ? 'outcome' : 'events'
  return withStreamSlot(call, async release => {
    // A client that resumes from an unknown position has lost data: its request is refused before anything is done.
    if (position) {
      const identity = await requireSession(services, await callerInSession(call, sessionId, program), sessionId)
      await assertPositionInLog(services.manager, identity, position)
    }
    const turn = (await stopCancelledRun(call, body, program)) ?? (await handleClientRequest(call, turnRequest))
    const options = { echo, results, asks, isContinued: position !== undefined } as const
    return eventsReply(call, { ...turn, after: position ?? turn.after, release }, format, options)
  })
}

/** Streams a run from its start or a position; without `runId` reads the session. */
export async function readOrJoin(call: RouteCall<undefined, EventsQuery>): Promise<Reply> {
  const { services, params, query, request } = call
  programNamed(services, params['agent'] as string)
  if (query.runId === undefined) return sessionReply(call)
  const format = formatOf(call)
  const found = parseRunName(query.runId)
  // A run id may contain an @. If the client also names the session, that one decides.
  const named = query.threadId === undefined || found?.sessionId === query.threadId ? found : undefined
  const sessionId = named?.sessionId ?? query.threadId
  if (sessionId === undefined)
    throw new HttpError(
      'request_invalid',
      'threadId: expected the session of the run, because runId does not contain it',
    )
  const runId = named?.runId ?? query.runId
  const { offset } = query
  const position =
    positionOf('Last-Event-ID', request.headers.get('last-event-id')) ?? positionOf('offset', offset ?? null)
  const caller = await callerInSession(call, sessionId)
  const identity = await requireSession(services, caller, checkSessionId(sessionId))
  const run = await knownRun(services, identity, runId)
  const echo = { threadId: sessionId, runId: query.runId }
  const { action } = call
  return eventsReply(call, { run, caller, identity, action, after: position }, format, {
    echo,
    isContinued: position !== undefined,
  })
}

async function sessionReply(call: RouteCall<undefined, EventsQuery>): Promise<Reply> {
  const { services, query, request } = call
  const { threadId } = query
  if (threadId === undefined) throw new HttpError('request_invalid', 'threadId: expected a session id')
  negotiate(request.headers.get('accept'), ['json'])
  const sessionId = checkSessionId(threadId)
  const caller = await callerInSession(call, sessionId)
  const info = await findSession(services, caller, sessionId)
  if (info === null) return json(200, { messages: [], activeRun: null, interrupts: null })
  const { streamId } = info
  const { view, ticket } = await services.runtime.view(streamId)
  const runId = activeRunId(ticket)
  const name = runId === undefined ? undefined : runNameIn(sessionId, runId)
  // Clients run their tools only when the stream tells them, so they join a run that waits for a client tool.
  const isAsking = ticket.run?.paused === true && !view.pendings.some(({ kind }) => kind === 'client-tool')
  // With the run id that the client gets: it rejects interrupts of other runs.
  const pending = isAsking && name !== undefined ? tanstackInterruptsOf(view, name) : []
  const isActive = name !== undefined && pending.length === 0
  // The messages of the active run come with its stream.
  const listed = isActive ? view.messages.filter(message => message.runId !== runId) : view.messages
  const messages = await withInlineBlobs(call, streamId, listed)
  const { output } = view
  return json(200, {
    messages: tanstackMessagesOf({ messages, ...(!isActive && output !== undefined && { output }) }),
    activeRun: isActive ? { runId: name } : null,
    interrupts: pending.length > 0 ? { runId: name, pending } : null,
  })
}

function eventsReply(
  call: RouteCall,
  { caller, ...turn }: AcceptedTurn & { readonly release?: () => void },
  format: Format,
  options: TanstackAgUiEncoderOptions,
): Promise<Reply> {
  const { run } = turn
  const { manager } = call.services
  const { sessionId: streamId, runId } = run
  const encoder = new TanstackAgUiEncoder({ ...options, runId })
  // The client has the earlier messages. They are sent again only after a rewind.
  const loadEarlierMessages = (sequence: number) =>
    unlessTrimmed(async () => {
      const { view } = await manager.view(streamId, sequence - 1)
      const messages = await whileStreaming(call, counted => withInlineBlobs(counted, streamId, view.messages))
      encoder.setBefore({ messages: aguiMessagesOf({ messages }), isNew: false })
    })
  const beforeEntry = ({ chunk, sequence, origin }: Entry) =>
    chunk.type === 'run-started' && origin.runId === runId ? loadEarlierMessages(sequence) : undefined
  return streamRun(call, caller, { ...turn, encoder, dialectFormat: FORMATS[format], beforeEntry })
}

const dialectFormatOf = (format: Format): DialectFormat<AgUiEvent> => ({
  format,
  framing: {
    contentType: CONTENT_TYPES[format],
    heartbeat: () => Buffer.from(format === 'sse' ? ': keep-alive\n\n' : '\n'),
    // Clients reconnect after a broken connection.
    fail: () => undefined,
  },
  hasCursorIds: true,
  write: (event, id) =>
    format === 'sse'
      ? `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`
      : `{"id":"${id}","chunk":${JSON.stringify(event)}}\n`,
})

const FORMATS = { sse: dialectFormatOf('sse'), ndjson: dialectFormatOf('ndjson') }

const formatOf = ({ query, request }: RouteCall<unknown, EventsQuery>): Format =>
  query.format ?? negotiate(request.headers.get('accept'), ['sse', 'ndjson'])

/** A run id that contains its session: clients send nothing else to join a run. */
const runNameIn = (sessionId: string, runId: string): string => `${runId}@${encodeURIComponent(sessionId)}`

function parseRunName(name: string): { readonly runId: string; readonly sessionId: string } | undefined {
  const at = name.lastIndexOf('@')
  if (at < 1) return undefined
  try {
    return { runId: name.slice(0, at), sessionId: decodeURIComponent(name.slice(at + 1)) }
  } catch {
    return undefined
  }
}

/** The position that a client sent; `-1` means the start. */
const positionOf = (name: string, id: string | null): EventPosition | undefined =>
  id === '-1' ? undefined : eventPositionIn(name, id)
