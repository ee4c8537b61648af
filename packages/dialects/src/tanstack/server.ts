// Client for a server of TanStack AI, with either protocol.

import type { Json, JsonObject, Message, ToolPart } from '@millrace/protocol'
import type { AgUiDecoder } from '../ag-ui/decoder.ts'
import { type AgUiOptions, AgUiServer, decoderFor } from '../ag-ui/server.ts'
import type { AgUiEvent } from '../ag-ui/types.ts'
import { ForeignConnection } from '../foreign-server/foreign-connection.ts'
import type { ForeignReply, ForeignRequest, ForeignServer } from '../foreign-server/foreign-server.ts'
import { HttpReply } from '../foreign-server/http-reply.ts'
import type { WireEvent } from '../http/event-reader.ts'
import { jsonEventOf } from '../http/event-reader.ts'
import { type HttpServerOptions, request } from '../http/request.ts'
import { TanstackDecoder } from './decoder.ts'
import type { TanstackChunk } from './types.ts'

/** Options of a connection to a server with TanStack AI. */
export interface TanstackOptions extends AgUiOptions {
  /** The protocol of the server: the events of AG-UI, since 0.3, or its own chunks before. @default 'ag-ui' */
  readonly protocol?: 'ag-ui' | 'chunks' | undefined
}

/** A requested run over all of its connections. */
class PostedRun {
  readonly body: JsonObject
  decoder: AgUiDecoder
  /** Whether the server restarted instead of resuming. It is not retried then, since each attempt may be a new run. */
  hasRestarted = false
  /** The received event ids, with the number of their connection. */
  readonly #ids = new Map<string, number>()
  #firstId: string | undefined
  #connection = 0
  /** Whether the position of this connection is not known yet. */
  #isPositionUnknown = false
  #lastType: string | undefined

  constructor(body: JsonObject) {
    this.body = body
    this.decoder = decoderFor(body)
  }

  /** Starts another connection. */
  connect(): void {
    this.#isPositionUnknown = this.#connection++ > 0
  }

  /** Whether an event was received before, restarts the reply, or is new. */
  receive({ id }: WireEvent, event: AgUiEvent | undefined): 'known' | 'again' | 'new' {
    const isFirst = id !== undefined && id === this.#firstId
    // A reply can have several runs: the next one starts after an end.
    const isBegun = event?.type === 'RUN_STARTED' && this.#lastType !== 'RUN_FINISHED'
    const isAgain = this.#isPositionUnknown && (isFirst || isBegun)
    if (isAgain) {
      this.hasRestarted = true
      this.decoder = decoderFor(this.body)
      this.#ids.clear()
    }
    if (isAgain || !isAccepted(event)) this.#isPositionUnknown = false
    this.#lastType = event?.type
    if (id === undefined) return isAgain ? 'again' : 'new'
    this.#firstId ??= id
    const connection = this.#ids.get(id) ?? this.#connection
    this.#ids.set(id, connection)
    if (isAgain) return 'again'
    return connection < this.#connection ? 'known' : 'new'
  }
}

/** Whether an event only says that the server has stored the run. */
const isAccepted = (event: AgUiEvent | undefined): boolean => event?.type === 'CUSTOM' && event.name === 'run.accepted'

/** A server since 0.3. If its events have ids, a dropped reply resumes after the last one. */
class TanstackServer extends AgUiServer {
  override readonly name = 'tanstack'
  readonly #postedRuns = new WeakMap<ForeignReply, PostedRun>()

  override async ask(foreignRequest: ForeignRequest): Promise<ForeignReply> {
    return this.#post(new PostedRun(this.bodyOf(foreignRequest)), foreignRequest.signal)
  }

  async resume({ signal }: ForeignRequest, dropped?: ForeignReply): Promise<ForeignReply | undefined> {
    const postedRun = dropped && this.#postedRuns.get(dropped)
    const lastId = (dropped as HttpReply<AgUiEvent> | undefined)?.lastId
    return !postedRun || postedRun.hasRestarted || lastId === undefined
      ? undefined
      : this.#post(postedRun, signal, lastId)
  }

  async #post(postedRun: PostedRun, signal: AbortSignal, lastId?: string): Promise<ForeignReply> {
    const headers = {
      accept: 'text/event-stream',
      'x-run-id': String(postedRun.body['runId']),
      ...(lastId !== undefined && { 'last-event-id': lastId }),
    }
    const response = await request(this.options, { body: postedRun.body, headers, signal })
    postedRun.connect()
    const eventOf = (wire: WireEvent): AgUiEvent | undefined => {
      const event = jsonEventOf(wire) as AgUiEvent | undefined
      const novelty = postedRun.receive(wire, event)
      if (novelty === 'again') reply.restart(postedRun.decoder)
      return novelty === 'known' ? undefined : this.remembered(event)
    }
    const reply = new HttpReply<AgUiEvent>(response, postedRun.decoder, { eventOf })
    // A connection without events does not change the position.
    reply.lastId = lastId
    this.#postedRuns.set(reply, postedRun)
    return reply
  }

  /** A run that ends with calls and without requests is followed by another run in the reply. */
  protected override remembered(lastEvent: AgUiEvent | undefined): AgUiEvent | undefined {
    const event = super.remembered(lastEvent)
    if (isAccepted(event)) return undefined
    if (event?.type !== 'RUN_FINISHED' || event.outcome) return event
    const { finishReason } = Object(event.metadata?.['tanstack']) as { finishReason?: unknown }
    return finishReason === 'tool_calls' ? undefined : event
  }
}

/** A server up to 0.2, which cannot resume a dropped reply. */
class TanstackChunkServer implements ForeignServer {
  readonly name = 'tanstack'
  readonly #options: HttpServerOptions & Pick<AgUiOptions, 'forwardedProps'>

  constructor(options: TanstackOptions) {
    this.#options = options
  }

  async ask({ sessionId, messages, answers, data, signal }: ForeignRequest): Promise<ForeignReply> {
    const decided = answers.flatMap(answer =>
      answer.kind === 'approval' ? [[answer.id, answer.approved] as const] : [],
    )
    const rest = answers.filter(({ kind }) => kind !== 'approval')
    const body = {
      messages: messages.flatMap(modelMessagesOf),
      data: { ...this.#options.forwardedProps, ...Object(data), conversationId: sessionId },
      // The transcript has no field for decisions and responses, and has results as text.
      ...(decided.length > 0 && { approvals: Object.fromEntries(decided) }),
      ...(rest.length > 0 && { answers: rest }),
    }
    return new HttpReply<TanstackChunk>(await request(this.#options, { body, signal }), new TanstackDecoder())
  }
}

/** A message of the first protocol: a call with its input, and a separate message for its result. Servers read approvals from `parts`. */
function modelMessagesOf({ role, parts }: Message): JsonObject[] {
  const content = parts.flatMap(part => (part.type === 'text' && 'text' in part ? [part.text as string] : [])).join('')
  if (role !== 'assistant') return [{ role, content }]
  const calls = parts.filter(
    (part): part is ToolPart => (part.type === 'tool' || part.type === 'dynamic-tool') && 'toolCallId' in part,
  )
  if (calls.length === 0) return [{ role, content }]
  const toolCalls = calls.map(({ toolCallId: id, toolName: name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input ?? {}) },
  }))
  const message = { role, content: content === '' ? null : content, toolCalls, parts: calls.map(partOf) }
  return [message as JsonObject, ...calls.flatMap(resultsOf)]
}

function partOf({ toolCallId: id, toolName: name, input = {}, output, approval }: ToolPart): JsonObject {
  const decided = approval?.approved === undefined ? {} : { approved: approval.approved }
  const state = approval?.approved === undefined ? 'input-complete' : 'approval-responded'
  return {
    type: 'tool-call',
    id,
    name,
    arguments: JSON.stringify(input),
    state,
    ...(output !== undefined && { output }),
    ...(approval && { approval: { id: approval.id, needsApproval: true, ...decided } }),
  }
}

function resultsOf({ toolCallId, state, output, errorText, approval }: ToolPart): JsonObject[] {
  const result = (content: Json): JsonObject[] => [
    { role: 'tool', toolCallId, content: typeof content === 'string' ? content : JSON.stringify(content) },
  ]
  if (state === 'output-available') return result(output ?? null)
  if (state === 'output-error') return result({ error: errorText ?? '' })
  return state === 'output-denied' ? result({ error: approval?.reason ?? 'The call was denied.' }) : []
}

/** Connects to a server of TanStack AI, which responds with `toServerSentEventsResponse()`. */
export const tanstack = (options: TanstackOptions): ForeignConnection =>
  new ForeignConnection(options.protocol === 'chunks' ? new TanstackChunkServer(options) : new TanstackServer(options))
