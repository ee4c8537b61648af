// TanStack AI since 0.23 uses AG-UI with extensions. Its client does not support sub-agents, shows the output of a run as a part of its message, and accepts answers only to interrupts that name their run.

import { type Chunk, type Json, type JsonObject, messageIdOf } from '@millrace/protocol'
import { AgUiEncoder, type AgUiEncoderOptions } from '../../ag-ui/encoder.ts'
import { derived, extension } from '../../ag-ui/events/extension.ts'
import type { AgUiEvent, AgUiInterrupt, EventOf } from '../../ag-ui/types.ts'
import type { DecodedChunk, Encoder, EndStatus } from '../../dialect/dialect.ts'
import { subAgentIdOf } from '../../dialect/lane.ts'

/** Options of an encoder for TanStack AI with the events of AG-UI. */
export interface TanstackAgUiEncoderOptions extends Omit<AgUiEncoderOptions, 'clientTools'> {
  /**
   * How requests are sent: in the outcome of the run, for clients since 0.23, or as custom events before its end.
   * @default 'outcome'
   */
  readonly asks?: 'outcome' | 'events' | undefined
}

const REASONS: Readonly<Record<string, string>> = { 'content-filter': 'content_filter', 'tool-calls': 'tool_calls' }

/** Encodes a run as events of AG-UI for clients of TanStack AI. */
export class TanstackAgUiEncoder implements Encoder<AgUiEvent> {
  readonly #events: AgUiEncoder
  readonly #interruptedRunId: string | undefined
  readonly #asksByEvents: boolean
  #runId: string | undefined
  #model: string | undefined
  #finishReason = 'stop'
  /** Whether the start of the output object was sent. */
  #isOutputStarted = false

  constructor(options: TanstackAgUiEncoderOptions = {}) {
    this.#events = new AgUiEncoder({ ...options, clientTools: 'interrupts' })
    this.#runId = options.runId
    this.#interruptedRunId = options.echo?.runId
    this.#asksByEvents = options.asks === 'events'
  }

  /** Sets the messages before the run, which a discard has to repeat. */
  setBefore(before: Parameters<AgUiEncoder['setBefore']>[0]): void {
    this.#events.setBefore(before)
  }

  encode(decoded: DecodedChunk): readonly AgUiEvent[] {
    const { chunk, origin } = decoded
    this.#runId ??= origin?.runId ?? (chunk.type === 'run-requested' ? chunk.runId : undefined)
    const events = this.#events.encode(decoded)
    const agentId = subAgentIdOf(origin)
    if (agentId !== undefined && !chunk.type.startsWith('subagent-'))
      return this.#adapted([...events.filter(event => !isTagged(event)), extension(chunk, { subagentRunId: agentId })])
    if (origin?.guest === undefined && origin?.model !== undefined) this.#model = origin.model
    if (chunk.type === 'finish') this.#finishReason = REASONS[chunk.finishReason ?? ''] ?? chunk.finishReason ?? 'stop'
    if (FAILURES.has(chunk.type)) return this.#adapted(events.map(withErrorState))
    const outputEvents = this.#outputEvents(chunk)
    return this.#adapted(outputEvents === NONE ? events : [...events, ...outputEvents])
  }

  resume(): readonly AgUiEvent[] {
    return this.#adapted(this.#events.resume())
  }

  end(status: EndStatus): readonly AgUiEvent[] {
    if (status === 'paused') this.#finishReason = 'tool_calls'
    return this.#adapted(this.#events.end(status))
  }

  /** Sends the output object of a run as a part of its own message. */
  #outputEvents(chunk: Chunk): readonly AgUiEvent[] {
    if (chunk.type !== 'output' && !(chunk.type === 'structured-data' && chunk.streamId.startsWith(OUTPUT))) return NONE
    const messageId = `${messageIdOf(this.#runId ?? '', this.#runId ?? '')}/${OUTPUT}`
    if (chunk.type === 'output') {
      this.#isOutputStarted = false
      const value = { object: chunk.output, raw: JSON.stringify(chunk.output), messageId }
      return [derived({ type: 'CUSTOM', name: 'structured-output.complete', value })]
    }
    if (this.#isOutputStarted) return NONE
    this.#isOutputStarted = true
    return [derived({ type: 'CUSTOM', name: 'structured-output.start', value: { messageId } })]
  }

  #adapted(events: readonly AgUiEvent[]): readonly AgUiEvent[] {
    // Fast path: most events are deltas and need no new array.
    if (events.every(isUnadapted)) return events
    return events.flatMap(event => {
      switch (event.type) {
        case 'RUN_STARTED':
          return [this.#model === undefined ? event : withTanstack(event, { model: this.#model })]
        case 'RUN_FINISHED':
          return this.#finished(event)
        case 'MESSAGES_SNAPSHOT':
          return [{ ...event, messages: event.messages.filter(isDisplayed) }]
        default:
          return isTagged(event) && !SENT_OF_SUBAGENTS.test(event.type) ? [] : [event]
      }
    })
  }

  #finished(event: EventOf<'RUN_FINISHED'>): readonly AgUiEvent[] {
    const { outcome, runId } = event
    const finishFields = {
      finishReason: this.#finishReason,
      ...(this.#model !== undefined && { model: this.#model }),
    }
    if (outcome?.type !== 'interrupt') return [withTanstack(event, finishFields)]
    if (this.#asksByEvents) {
      const pendingToolCallIds = outcome.interrupts.flatMap(({ toolCallId }) => toolCallId ?? [])
      const ended = withTanstack({ ...event, outcome: { type: 'success', pendingToolCallIds } }, finishFields)
      return [...outcome.interrupts.flatMap(requestEventOf), ended]
    }
    const interrupts = outcome.interrupts.map(one => answerableInterrupt(this.#interruptedRunId ?? runId, one))
    return [withTanstack({ ...event, outcome: { type: 'interrupt', interrupts } }, finishFields)]
  }
}

const NONE: readonly AgUiEvent[] = []
const OUTPUT = 'output:'
const SENT_OF_SUBAGENTS = /^(SUBAGENT_|CUSTOM$)/
const FAILURES: ReadonlySet<string> = new Set(['tool-output-error', 'tool-output-denied', 'tool-input-error'])

const ADAPTED: ReadonlySet<string> = new Set(['RUN_STARTED', 'RUN_FINISHED', 'MESSAGES_SNAPSHOT'])

const isTagged = (event: AgUiEvent): boolean => 'subagentRunId' in event && event.subagentRunId !== undefined

const isUnadapted = (event: AgUiEvent): boolean => !isTagged(event) && !ADAPTED.has(event.type)

/** Whether clients display a message. Messages of sub-agents and empty reasoning are hidden. */
const isDisplayed = (message: EventOf<'MESSAGES_SNAPSHOT'>['messages'][number]): boolean =>
  message.subagentRunId === undefined && !(message.role === 'reasoning' && message.content === '')

const withTanstack = (event: AgUiEvent, fields: JsonObject): AgUiEvent =>
  ({ ...event, metadata: { ...event.metadata, tanstack: fields } }) as AgUiEvent

const withErrorState = (event: AgUiEvent): AgUiEvent =>
  event.type === 'TOOL_CALL_RESULT' ? withTanstack(event, { state: 'output-error' }) : event

/** The custom event of a request for clients before 0.23, which have none for questions. */
function requestEventOf({ id, toolCallId, metadata = {} }: AgUiInterrupt): readonly AgUiEvent[] {
  const { kind, toolName = '', input = null } = metadata
  if (toolCallId === undefined) return NONE
  const call = { toolCallId, toolName, input }
  if (kind === 'client_tool') return [derived({ type: 'CUSTOM', name: 'tool-input-available', value: call })]
  const value = { ...call, approval: { id, needsApproval: true } }
  return [derived({ type: 'CUSTOM', name: 'approval-requested', value })]
}

/** An interrupt that clients can answer. */
export function answerableInterrupt(interruptedRunId: string, interrupt: AgUiInterrupt): AgUiInterrupt {
  const { responseSchema, metadata = {}, ...rest } = interrupt
  if (metadata['kind'] === 'approval')
    return { ...interrupt, reason: 'approval_required', metadata: { toolName: '', ...metadata } }
  if (metadata['kind'] === 'client_tool') return { ...interrupt, reason: 'client_tool_input' }
  // Clients expect the hash of the schema, but do not check it.
  const binding = { v: 1, kind: 'generic', interruptId: interrupt.id, interruptedRunId, generation: 0 }
  const schema = responseSchema === undefined ? {} : { responseSchema: responseSchema as Json }
  return { ...rest, metadata: { ...metadata, ...schema, 'tanstack:interruptBinding': binding } }
}
