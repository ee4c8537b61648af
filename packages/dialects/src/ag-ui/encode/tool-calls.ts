import type { Chunk, Origin } from '@millrace/protocol'
import { type ToolResultChunk, UNSETTLED_RESULT } from '../../dialect/tool-result.ts'
import { annotated, decodedOutput, resultText, textOf } from '../events/event-to-chunk.ts'
import { derived, extension } from '../events/extension.ts'
import type { AgUiEvent } from '../types.ts'
import type { OpenParts } from './open-parts.ts'
import type { Transcript, TranscriptDraft } from './transcript.ts'

/** The changes of a lane since its last commit. */
export interface AgUiDraft {
  readonly lane: string
  readonly messages: TranscriptDraft
  /** Ids of its calls. */
  readonly calls: Set<string>
}

/** An agent of a run. */
export interface RunAgent {
  /** Prefix of its message ids. */
  readonly prefix: string
  readonly tag: { readonly subagentRunId?: string }
  /** The message that its next call belongs to. */
  parent: string | undefined
  /** Cache: its last part. Most deltas continue it. */
  lastPart: { readonly id: string; readonly messageId: string } | undefined
}

type ToolInputChunk = Extract<Chunk, { type: `tool-input-${string}` }>

const NONE: readonly AgUiEvent[] = []

/** Encodes the tool calls of a run and their results. */
export class AgUiToolCalls {
  readonly #open: OpenParts
  readonly #results: ReadonlySet<string> | undefined
  /** The agents of calls without a result, by call id. */
  readonly #unsettled = new Map<string, RunAgent>()
  /** Results that guests sent since the run paused. A resumed client does not have them. */
  guestResults: AgUiEvent[] = []
  transcript: Transcript | undefined

  constructor(open: OpenParts, results?: ReadonlySet<string>) {
    this.#open = open
    this.#results = results
  }

  input(chunk: ToolInputChunk, agent: RunAgent, draft: AgUiDraft): readonly AgUiEvent[] {
    const { toolCallId, type } = chunk
    const { tag } = agent
    const owner = this.#unsettled.get(toolCallId)
    // The events of a call have the agent that started it.
    if (owner && owner !== agent) return [extension(chunk, tag)]
    const call = this.#open.call(toolCallId)
    const isNew = call === undefined && owner === undefined
    if (type === 'tool-input-start')
      return [isNew ? annotated(this.#start(chunk, agent, draft), chunk) : extension(chunk, tag)]
    if (type === 'tool-input-delta') {
      const { delta } = chunk
      if (!call) return [extension(chunk, tag)]
      call.text += delta
      this.transcript?.args(toolCallId, delta)
      return [annotated({ type: 'TOOL_CALL_ARGS', toolCallId, delta, ...tag }, chunk)]
    }
    const { toolName = '' } = chunk
    const events = isNew ? [derived(this.#start({ toolCallId, toolName }, agent, draft))] : []
    const opened = this.#open.call(toolCallId)
    if (type === 'tool-input-error') return [...events, ...this.result(chunk, agent, undefined)]
    if (!opened) return [extension(chunk, tag)]
    if (opened.text === '') {
      const delta = textOf(chunk.input)
      opened.text = delta
      this.transcript?.args(toolCallId, delta)
      events.push(derived({ type: 'TOOL_CALL_ARGS', toolCallId, delta, ...tag }))
    }
    const context = { toolName: opened.name, input: opened.decodedInput(chunk.input) }
    return [...events, ...this.#open.endCall(toolCallId, event => annotated(event, chunk, context))]
  }

  result(chunk: ToolResultChunk, agent: RunAgent, origin: Origin | undefined): readonly AgUiEvent[] {
    const { toolCallId } = chunk
    const owner = this.#unsettled.get(toolCallId)
    // Guests answer the calls of all agents.
    if (owner && owner !== agent && origin?.guest === undefined) return [extension(chunk, agent.tag)]
    const closing = owner ? this.#open.endCall(toolCallId, derived) : NONE
    this.#unsettled.delete(toolCallId)
    // The client has its own results. A call that is unknown or settled has no result to send.
    if (!owner || this.#results?.has(toolCallId)) return [...closing, extension(chunk, agent.tag)]
    const content = resultText(chunk)
    const event = this.#result(toolCallId, content, owner)
    if (origin?.guest !== undefined) this.guestResults.push(derived(event))
    const output = 'output' in chunk ? decodedOutput(chunk.output) : content
    return [...closing, annotated(event, chunk, { output })]
  }

  /** Removes the calls of a discarded draft. */
  discard({ calls }: AgUiDraft): void {
    for (const toolCallId of calls) this.#unsettled.delete(toolCallId)
  }

  /** Results for the calls that are still open when the run ends. */
  end(): AgUiEvent[] {
    const open = [...this.#unsettled].filter(([toolCallId]) => !this.#results?.has(toolCallId))
    this.#unsettled.clear()
    return open.map(([toolCallId, agent]) => derived(this.#result(toolCallId, UNSETTLED_RESULT, agent)))
  }

  #start(
    { toolCallId, toolName }: { readonly toolCallId: string; readonly toolName: string },
    agent: RunAgent,
    draft: AgUiDraft,
  ): AgUiEvent {
    agent.parent ??= `${agent.prefix}call:${toolCallId}`
    const { parent, tag } = agent
    this.#unsettled.set(toolCallId, agent)
    draft.calls.add(toolCallId)
    this.transcript?.call(parent, toolCallId, toolName, draft.messages, tag.subagentRunId)
    return this.#open.startCall({ toolCallId, toolName, parent, lane: draft.lane, tag })
  }

  #result(toolCallId: string, content: string, { prefix, tag }: RunAgent): AgUiEvent {
    const messageId = `${prefix}result:${toolCallId}`
    this.transcript?.result(toolCallId, { id: messageId, role: 'tool', toolCallId, content, ...tag })
    return { type: 'TOOL_CALL_RESULT', messageId, toolCallId, content, role: 'tool', ...tag }
  }
}
