// Client for a server of AG-UI: posts the body of `HttpAgent` and reads the events of the response.

import type { JsonObject, Message, Part, ToolPart } from '@millrace/protocol'
import type { ClientAnswer } from '../dialect/client-request.ts'
import { ForeignConnection } from '../foreign-server/foreign-connection.ts'
import type { ForeignReply, ForeignRequest, ForeignServer } from '../foreign-server/foreign-server.ts'
import { HttpReply } from '../foreign-server/http-reply.ts'
import type { WireEvent } from '../http/event-reader.ts'
import { jsonEventOf } from '../http/event-reader.ts'
import { type HttpServerOptions, postStop, request } from '../http/request.ts'
import { AgUiDecoder } from './decoder.ts'
import { type AgUiResume, callInterruptIdOf, interruptIdsOf } from './events/interrupts.ts'
import { aguiMessagesOf } from './messages/agui-messages.ts'
import type { AgUiEvent, AgUiInterrupt, AgUiMessage } from './types.ts'

/** A tool that the client runs, as it is described to the agent. */
export interface AgUiTool {
  readonly name: string
  readonly description: string
  /** The JSON schema of its input. */
  readonly parameters: JsonObject
}

/** Options of a connection to a server with AG-UI. */
export interface AgUiOptions extends HttpServerOptions {
  /** Tools that the page runs. The agent knows no other client tools. @default [] */
  readonly tools?: readonly AgUiTool[] | undefined
  /** Context entries of each request. @default [] */
  readonly context?: readonly { readonly description: string; readonly value: string }[] | undefined
  /** Added to each request. The `data` of a run overrides it. @default none */
  readonly forwardedProps?: object | undefined
  /** Whether the server has `POST {api}/{session}/stop`. A server that continues after the connection closes needs it. @default false */
  readonly stop?: boolean | undefined
}

/** Sends requests to a server of AG-UI. */
export class AgUiServer implements ForeignServer {
  readonly name: string = 'ag-ui'
  readonly stop?: NonNullable<ForeignServer['stop']>
  protected readonly options: AgUiOptions
  /** Number of requests per run. For the server, each request is a run. */
  readonly #requestCounts = new Map<string, number>()
  /** Ids of the interrupts of the server, and those ids by tool call. */
  readonly #interrupts = new Set<string>()
  readonly #byCall = new Map<string, string>()
  #isMillrace = false

  constructor(options: AgUiOptions) {
    this.options = options
    if (options.stop) this.stop = ({ sessionId, signal }) => postStop(options, sessionId, signal)
  }

  async ask(foreignRequest: ForeignRequest): Promise<ForeignReply> {
    return this.post(this.bodyOf(foreignRequest), {}, foreignRequest.signal)
  }

  protected async post(
    body: JsonObject,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<HttpReply<AgUiEvent>> {
    const foreignRequest = { body, headers: { accept: 'text/event-stream', ...headers }, signal }
    const eventOf = (wire: WireEvent) => this.remembered(jsonEventOf(wire) as AgUiEvent | undefined)
    return new HttpReply<AgUiEvent>(await request(this.options, foreignRequest), decoderFor(body), { eventOf })
  }

  /** The request body. */
  protected bodyOf(foreignRequest: ForeignRequest): JsonObject {
    const { sessionId: threadId, runId, messages, answers, foreignIds, state, data } = foreignRequest
    const { tools = [], context = [], forwardedProps } = this.options
    const nth = (this.#requestCounts.get(runId) ?? 0) + 1
    this.#requestCounts.set(runId, nth)
    const resume = answers.flatMap(answer => this.#resumeEntriesOf(answer))
    return {
      threadId,
      runId: runName(runId, nth),
      ...(nth > 1 && { parentRunId: runName(runId, nth - 1) }),
      state: state ?? {},
      messages: messages.flatMap(message => serverMessagesOf(message, foreignIds.get(message.id))),
      tools,
      context,
      forwardedProps: { ...forwardedProps, ...Object(data) },
      ...(resume.length > 0 && { resume }),
    } as unknown as JsonObject
  }

  /** Remembers the interrupts of an event. Returns the event. */
  protected remembered(event: AgUiEvent | undefined): AgUiEvent | undefined {
    if (event?.type === 'RUN_STARTED') this.#isMillrace = event.metadata?.millrace !== undefined
    if (event?.type === 'RUN_FINISHED' && event.outcome?.type === 'interrupt')
      this.#rememberInterrupts(event.outcome.interrupts)
    return event
  }

  #rememberInterrupts(interrupts: readonly AgUiInterrupt[]): void {
    for (const { id, toolCallId } of interrupts) {
      this.#interrupts.add(id)
      if (toolCallId !== undefined) this.#byCall.set(toolCallId, id)
    }
  }

  /** The response to an interrupt. Results of calls are in the messages, too. */
  #resumeEntriesOf(answer: ClientAnswer): AgUiResume[] {
    // A Millrace server takes every result as a response, which keeps its type. The messages have it as text.
    const ownId = this.#isMillrace && answer.kind === 'tool-result' ? callInterruptIdOf(answer.id) : undefined
    const interruptId =
      ownId ?? interruptIdsOf(answer).find(id => this.#interrupts.has(id)) ?? this.#byCall.get(answer.id)
    if (interruptId === undefined) return []
    switch (answer.kind) {
      case 'approval': {
        const { approved, reason } = answer
        return [{ interruptId, status: 'resolved', payload: { approved, ...(reason !== undefined && { reason }) } }]
      }
      case 'interrupt':
        return [{ interruptId, status: 'resolved', payload: answer.response }]
      case 'tool-result':
        if ('error' in answer) return [{ interruptId, status: 'cancelled', ...(ownId && { payload: answer.error }) }]
        return [{ interruptId, status: 'resolved', payload: answer.output }]
    }
  }
}

/** The decoder for the response to a request body. */
export const decoderFor = ({ messages }: JsonObject): AgUiDecoder =>
  new AgUiDecoder(messages as unknown as readonly AgUiMessage[])

const runName = (runId: string, nth: number): string => (nth === 1 ? runId : `${runId}-${nth}`)

const isFailed = (part: Part): part is ToolPart & { readonly errorText: string } =>
  'toolCallId' in part && part.state === 'output-error' && part.errorText !== undefined

/** A message with the ids of the server. A Millrace server prefixes them with the run, a foreign server has one for each text. */
function serverMessagesOf(message: Message, foreignId: string | undefined): AgUiMessage[] {
  const prefix = `${message.id}/`
  const idPrefix = foreignId?.includes('::') ? `${foreignId}/` : ''
  const errors = new Map(message.parts.flatMap(part => (isFailed(part) ? [[part.toolCallId, part.errorText]] : [])))
  return aguiMessagesOf({ messages: [message] }).map(one => {
    const error = one.role === 'tool' ? errors.get(one.toolCallId) : undefined
    const converted = error === undefined ? one : { ...one, error }
    if (converted.id.startsWith(prefix)) return { ...converted, id: idPrefix + converted.id.slice(prefix.length) }
    return foreignId === undefined ? converted : { ...converted, id: foreignId }
  })
}

/** Connects to a server of AG-UI, as `HttpAgent` does. */
export const agUi = (options: AgUiOptions): ForeignConnection => new ForeignConnection(new AgUiServer(options))
