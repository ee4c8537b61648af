import type { Chunk, Origin } from '@millrace/protocol'
import type { ToolResultChunk } from '../dialect/tool-result.ts'
import { type AgUiEvent, derived, extension } from './event.ts'
import { annotated, isToldByText, resultText, textOf, UNSETTLED } from './event-to-chunk.ts'
import type { OpenParts } from './open-parts.ts'
import type { Transcript, TranscriptDraft } from './transcript.ts'

/** What a lane wrote since its last commit. */
export interface AgUiDraft {
  readonly lane: string
  readonly messages: TranscriptDraft
  /** Ids of the calls that it made. */
  readonly calls: Set<string>
}

/** One of the agents of a run. */
export interface RunAgent {
  /** What the ids of its messages begin with. */
  readonly prefix: string
  readonly tag: { readonly subagentRunId?: string }
  /** The message that its next call belongs to. */
  parent: string | undefined
  /** Its part that was spoken of last: mostly the next is the same. */
  named: { readonly id: string; readonly messageId: string } | undefined
}

type Inputs = Extract<Chunk, { type: `tool-input-${string}` }>

const NONE: readonly AgUiEvent[] = []

/** Says the calls of a run, and what came of them. */
export class AgUiToolCalls {
  readonly #open: OpenParts
  readonly #results: ReadonlySet<string> | undefined
  /** The calls that have no result yet, and those who made them. */
  readonly #unsettled = new Map<string, RunAgent>()
  /** Results that people gave since the run waits: who goes on has not been told of them. */
  given: AgUiEvent[] = []
  transcript: Transcript | undefined

  /** `results` are the calls whose results the client has. */
  constructor(open: OpenParts, results?: ReadonlySet<string>) {
    this.#open = open
    this.#results = results
  }

  input(chunk: Inputs, speaker: RunAgent, draft: AgUiDraft): readonly AgUiEvent[] {
    const { toolCallId, type } = chunk
    const { tag } = speaker
    const call = this.#open.call(toolCallId)
    const isNew = call === undefined && !this.#unsettled.has(toolCallId)
    if (type === 'tool-input-start')
      return [isNew ? annotated(this.#start(chunk, speaker, draft), chunk) : extension(chunk, tag)]
    if (type === 'tool-input-delta') {
      const { delta } = chunk
      if (!call) return [extension(chunk, tag)]
      call.text += delta
      this.transcript?.args(toolCallId, delta)
      return [annotated({ type: 'TOOL_CALL_ARGS', toolCallId, delta, ...tag }, chunk)]
    }
    const { toolName = '' } = chunk
    const events = isNew ? [derived(this.#start({ toolCallId, toolName }, speaker, draft))] : []
    const opened = this.#open.call(toolCallId)
    if (type === 'tool-input-error') return [...events, ...this.result(chunk, speaker, undefined)]
    if (!opened) return [extension(chunk, tag)]
    if (opened.text === '') {
      const delta = textOf(chunk.input)
      opened.text = delta
      this.transcript?.args(toolCallId, delta)
      events.push(derived({ type: 'TOOL_CALL_ARGS', toolCallId, delta, ...tag }))
    }
    const known = { toolName: opened.name, input: opened.reads(chunk.input) }
    return [...events, ...this.#open.endCall(toolCallId, event => annotated(event, chunk, known))]
  }

  result(chunk: ToolResultChunk, speaker: RunAgent, origin: Origin | undefined): readonly AgUiEvent[] {
    const { toolCallId } = chunk
    const owner = this.#unsettled.get(toolCallId)
    const closing = owner ? this.#open.endCall(toolCallId, derived) : NONE
    this.#unsettled.delete(toolCallId)
    // What the client itself has said of a call it has already; and of a call that nobody made, or that is settled, there is nothing to tell.
    if (!owner || this.#results?.has(toolCallId)) return [...closing, extension(chunk, speaker.tag)]
    const content = resultText(chunk)
    const event = this.#result(toolCallId, content, owner)
    if (origin?.guest !== undefined) this.given.push(derived(event))
    const output = 'output' in chunk && isToldByText(chunk.output) ? chunk.output : content
    return [...closing, annotated(event, chunk, { output })]
  }

  /** Forgets the calls of a draft that was taken back. */
  discard({ calls }: AgUiDraft): void {
    for (const toolCallId of calls) this.#unsettled.delete(toolCallId)
  }

  /** The run is over: what has no result has none to come. */
  end(): AgUiEvent[] {
    const left = [...this.#unsettled].filter(([toolCallId]) => !this.#results?.has(toolCallId))
    this.#unsettled.clear()
    return left.map(([toolCallId, speaker]) => derived(this.#result(toolCallId, UNSETTLED, speaker)))
  }

  #start(
    { toolCallId, toolName }: { readonly toolCallId: string; readonly toolName: string },
    speaker: RunAgent,
    draft: AgUiDraft,
  ): AgUiEvent {
    speaker.parent ??= `${speaker.prefix}call:${toolCallId}`
    const { parent, tag } = speaker
    this.#unsettled.set(toolCallId, speaker)
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
