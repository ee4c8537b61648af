// A server of AG-UI, as our client asks it: what `HttpAgent` posts, and the events that answer it.

import type { JsonObject, Message } from '@millrace/protocol'
import type { ClientAnswer } from '../dialect/client-request.ts'
import { ForeignConnection } from '../foreign-server/foreign-connection.ts'
import type { ForeignReply, ForeignRequest, ForeignServer } from '../foreign-server/foreign-server.ts'
import { HttpReply } from '../foreign-server/http-reply.ts'
import type { WireEvent } from '../http/event-reader.ts'
import { jsonEventOf } from '../http/event-reader.ts'
import { type HttpServerOptions, postStop, request } from '../http/request.ts'
import { AgUiDecoder } from './decoder.ts'
import type { AgUiEvent, AgUiInterrupt, AgUiMessage } from './event.ts'
import { type AgUiResume, interruptIdsOf } from './interrupts.ts'
import { aguiMessagesOf } from './messages.ts'

/** A tool that the client runs, as the agent is told of it. */
export interface AgUiTool {
  readonly name: string
  readonly description: string
  /** The JSON schema of its input. */
  readonly parameters: JsonObject
}

export interface AgUiOptions extends HttpServerOptions {
  /** The tools that the page runs: the agent knows of no others. */
  readonly tools?: readonly AgUiTool[] | undefined
  readonly context?: readonly { readonly description: string; readonly value: string }[] | undefined
  /** Goes along with each request; what a run is given as `data` goes over it. */
  readonly forwardedProps?: object | undefined
  /** Whether the server has `POST {api}/{session}/stop`: one that goes on when nobody listens any more needs to be told. */
  readonly stop?: boolean | undefined
}

/** How a server of AG-UI is asked. */
export class AgUiServer implements ForeignServer {
  readonly name: string = 'ag-ui'
  readonly stop?: NonNullable<ForeignServer['stop']>
  protected readonly options: AgUiOptions
  /** How often the server was asked for each run: there each is a run of its own. */
  readonly #asked = new Map<string, number>()
  /** What the server asked, as it calls that; and by the call that it asks about. */
  readonly #interrupts = new Set<string>()
  readonly #byCall = new Map<string, string>()

  constructor(options: AgUiOptions) {
    this.options = options
    if (options.stop) this.stop = ({ sessionId, signal }) => postStop(options, sessionId, signal)
  }

  async ask(asking: ForeignRequest): Promise<ForeignReply> {
    return this.post(this.bodyOf(asking), {}, asking.signal)
  }

  /** Posts a request, and reads what answers it. */
  protected async post(
    body: JsonObject,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<HttpReply<AgUiEvent>> {
    const asking = { body, headers: { accept: 'text/event-stream', ...headers }, signal }
    const eventOf = (wire: WireEvent) => this.noted(jsonEventOf(wire) as AgUiEvent | undefined)
    return new HttpReply<AgUiEvent>(await request(this.options, asking), decoderFor(body), { eventOf })
  }

  /** What is posted. */
  protected bodyOf(asking: ForeignRequest): JsonObject {
    const { sessionId: threadId, runId, messages, answers, foreignIds, state, data } = asking
    const { tools = [], context = [], forwardedProps } = this.options
    const nth = (this.#asked.get(runId) ?? 0) + 1
    this.#asked.set(runId, nth)
    const resume = answers.flatMap(answer => this.#resumed(answer))
    return {
      threadId,
      runId: runName(runId, nth),
      ...(nth > 1 && { parentRunId: runName(runId, nth - 1) }),
      state: state ?? {},
      messages: messages.flatMap(message => told(message, foreignIds.get(message.id))),
      tools,
      context,
      forwardedProps: { ...forwardedProps, ...Object(data) },
      ...(resume.length > 0 && { resume }),
    } as unknown as JsonObject
  }

  /** An event, when what it asks was noted; undefined, where it says nothing. */
  protected noted(event: AgUiEvent | undefined): AgUiEvent | undefined {
    if (event?.type === 'RUN_FINISHED' && event.outcome?.type === 'interrupt') this.#note(event.outcome.interrupts)
    return event
  }

  #note(interrupts: readonly AgUiInterrupt[]): void {
    for (const { id, toolCallId } of interrupts) {
      this.#interrupts.add(id)
      if (toolCallId !== undefined) this.#byCall.set(toolCallId, id)
    }
  }

  /** How an answer is said, where it answers an interrupt: what came of a call is in the messages, too. */
  #resumed(answer: ClientAnswer): AgUiResume[] {
    const interruptId = interruptIdsOf(answer).find(id => this.#interrupts.has(id)) ?? this.#byCall.get(answer.id)
    if (interruptId === undefined) return []
    switch (answer.kind) {
      case 'approval': {
        const { approved, reason } = answer
        return [{ interruptId, status: 'resolved', payload: { approved, ...(reason !== undefined && { reason }) } }]
      }
      case 'interrupt':
        return [{ interruptId, status: 'resolved', payload: answer.response }]
      case 'tool-result':
        if ('error' in answer) return [{ interruptId, status: 'cancelled' }]
        return [{ interruptId, status: 'resolved', payload: answer.output }]
    }
  }
}

/** What understands the reply to what is posted. */
export const decoderFor = ({ messages }: JsonObject): AgUiDecoder =>
  new AgUiDecoder(messages as unknown as readonly AgUiMessage[])

const runName = (runId: string, nth: number): string => (nth === 1 ? runId : `${runId}-${nth}`)

/** A message as the server knows it: ours goes by names that begin with that of the run, another's by what it called each text. */
function told(message: Message, foreignId: string | undefined): AgUiMessage[] {
  const prefix = `${message.id}/`
  const own = foreignId?.includes('::') ? `${foreignId}/` : ''
  return aguiMessagesOf({ messages: [message] }).map(one => {
    if (one.id.startsWith(prefix)) return { ...one, id: own + one.id.slice(prefix.length) }
    return foreignId === undefined ? one : { ...one, id: foreignId }
  })
}

/** A connection to a server of AG-UI: what `HttpAgent` would ask. */
export const agUi = (options: AgUiOptions): ForeignConnection => new ForeignConnection(new AgUiServer(options))
