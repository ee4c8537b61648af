// The open parts of a stream. AG-UI requires all of them to be closed before a run ends, by the agent that opened them.

import type { Json } from '@millrace/protocol'
import { inputOf } from '../events/event-to-chunk.ts'
import { derived } from '../events/extension.ts'
import type { AgUiEvent, AgUiInterrupt, EventOf } from '../types.ts'

type Role = 'assistant' | 'reasoning'
type Annotate = (event: AgUiEvent) => AgUiEvent

interface Tag {
  readonly subagentRunId?: string
}

interface OpenMessage {
  readonly messageId: string
  readonly role: Role
  readonly lane: string
  readonly tag: Tag
}

/** A call whose arguments are still streamed. */
class OpenCall {
  readonly name: string
  readonly lane: string
  readonly start: EventOf<'TOOL_CALL_START'>
  text = ''

  constructor(name: string, lane: string, start: EventOf<'TOOL_CALL_START'>) {
    this.name = name
    this.lane = lane
    this.start = start
  }

  /** The input that a decoder reads from the arguments: `input` itself if equal. */
  decodedInput(input: Json): Json {
    const json = JSON.stringify(input)
    if (json === this.text) return input
    const parsed = inputOf(this.text)
    return JSON.stringify(parsed) === json ? input : parsed
  }
}

interface OpenStep {
  readonly stepName: string
  readonly lane: string
  readonly tag: Tag
}

/** Tracks open parts and creates the events that open and close them. */
export class OpenParts {
  readonly #messages = new Map<string, OpenMessage>()
  readonly #calls = new Map<string, OpenCall>()
  readonly #steps = new Map<string, OpenStep>()
  readonly #agents = new Map<string, EventOf<'SUBAGENT_STARTED'>>()
  /** Ids of all sub-agents that have started, ended ones too. Each starts once. */
  readonly #startedAgents = new Set<string>()

  isOpen(messageId: string, role: Role): boolean {
    return this.#messages.get(messageId)?.role === role
  }

  start(messageId: string, role: Role, lane: string, tag: Tag, annotate: Annotate): AgUiEvent[] {
    const other = this.#messages.get(messageId)
    const closing = other ? this.end(messageId, other.role, derived) : []
    this.#messages.set(messageId, { messageId, role, lane, tag })
    return [...closing, ...startEventsOf({ messageId, role, lane, tag }, annotate)]
  }

  end(messageId: string, role: Role, annotate: Annotate): AgUiEvent[] {
    const message = this.#messages.get(messageId)
    if (!message) return []
    this.#messages.delete(messageId)
    const { tag } = message
    if (role === 'assistant') return [annotate({ type: 'TEXT_MESSAGE_END', messageId, ...tag })]
    return [
      annotate({ type: 'REASONING_MESSAGE_END', messageId, ...tag }),
      { type: 'REASONING_END', messageId, ...tag },
    ]
  }

  call(toolCallId: string): OpenCall | undefined {
    return this.#calls.get(toolCallId)
  }

  startCall(call: { toolCallId: string; toolName: string; parent: string; lane: string; tag: Tag }): AgUiEvent {
    const { toolCallId, toolName: toolCallName, parent: parentMessageId, lane, tag } = call
    const start = { type: 'TOOL_CALL_START', toolCallId, toolCallName, parentMessageId, ...tag } as const
    this.#calls.set(toolCallId, new OpenCall(toolCallName, lane, start))
    return start
  }

  endCall(toolCallId: string, annotate: Annotate): AgUiEvent[] {
    const call = this.#calls.get(toolCallId)
    if (!call) return []
    this.#calls.delete(toolCallId)
    const { subagentRunId } = call.start
    const tag = subagentRunId === undefined ? {} : { subagentRunId }
    return [annotate({ type: 'TOOL_CALL_END', toolCallId, ...tag })]
  }

  /** A lane has one open step, and an agent no two steps of the same name. */
  startStep(
    event: { readonly stepName: string; readonly subagentRunId?: string },
    lane: string,
    startEvent: AgUiEvent,
  ) {
    const { stepName, subagentRunId } = event
    const events = this.endStep(lane)
    for (const [other, step] of this.#steps) {
      if (step.stepName === stepName && step.tag.subagentRunId === subagentRunId) events.push(...this.endStep(other))
    }
    this.#steps.set(lane, { stepName, lane, tag: subagentRunId === undefined ? {} : { subagentRunId } })
    return [...events, startEvent]
  }

  endStep(lane: string): AgUiEvent[] {
    const step = this.#steps.get(lane)
    if (!step) return []
    this.#steps.delete(lane)
    return [derived({ type: 'STEP_FINISHED', stepName: step.stepName, ...step.tag })]
  }

  hasAgent(agentId: string): boolean {
    return this.#startedAgents.has(agentId)
  }

  /** Returns false if the sub-agent has started before. */
  startAgent(start: EventOf<'SUBAGENT_STARTED'>): boolean {
    if (this.#startedAgents.has(start.subagentRunId)) return false
    this.#startedAgents.add(start.subagentRunId)
    this.#agents.set(start.subagentRunId, start)
    return true
  }

  /** Closes the open parts of a sub-agent. Undefined if it is not open. */
  endAgent(agentId: string): AgUiEvent[] | undefined {
    if (!this.#agents.delete(agentId)) return undefined
    const belongsToAgent = ({ subagentRunId }: Tag) => subagentRunId === agentId
    return this.#close(belongsToAgent)
  }

  /** Closes the open parts of a lane. */
  endLane(lane: string): AgUiEvent[] {
    return this.#close((_, partLane) => partLane === lane)
  }

  /** Closes everything. With `interrupts` the run is paused, and sub-agents are suspended. */
  endAll(interrupts: readonly AgUiInterrupt[] | undefined): AgUiEvent[] {
    const events = this.#close(() => true)
    for (const subagentRunId of [...this.#agents.keys()].reverse()) {
      const subagentInterrupts =
        interrupts?.filter(interrupt => interrupt.subagentRunId === subagentRunId).map(({ id }) => id) ?? []
      const outcome = {
        type: 'suspended',
        ...(subagentInterrupts.length > 0 && { interruptIds: subagentInterrupts }),
      } as const
      events.push(
        derived(
          interrupts
            ? { type: 'SUBAGENT_FINISHED', subagentRunId, outcome }
            : { type: 'SUBAGENT_ERROR', subagentRunId, message: 'The run ended before this sub-agent did.' },
        ),
      )
    }
    return events
  }

  /** The start events that a new connection needs. */
  reopened(): AgUiEvent[] {
    const events: AgUiEvent[] = [...this.#agents.values()].map(derived)
    for (const { stepName, tag } of this.#steps.values())
      events.push(derived({ type: 'STEP_STARTED', stepName, ...tag }))
    for (const message of this.#messages.values()) events.push(...startEventsOf(message, derived))
    for (const { start } of this.#calls.values()) events.push(derived(start))
    return events
  }

  #close(isIncluded: (tag: Tag, lane: string) => boolean): AgUiEvent[] {
    const events: AgUiEvent[] = []
    for (const [id, { tag, lane, role }] of this.#messages) {
      if (isIncluded(tag, lane)) events.push(...this.end(id, role, derived))
    }
    for (const [id, { start, lane }] of this.#calls) {
      if (isIncluded(start, lane)) events.push(...this.endCall(id, derived))
    }
    for (const [lane, { tag }] of this.#steps) if (isIncluded(tag, lane)) events.push(...this.endStep(lane))
    return events
  }
}

function startEventsOf({ messageId, role, tag }: OpenMessage, annotate: Annotate): AgUiEvent[] {
  if (role === 'assistant') return [annotate({ type: 'TEXT_MESSAGE_START', messageId, role, ...tag })]
  return [
    { type: 'REASONING_START', messageId, ...tag },
    annotate({ type: 'REASONING_MESSAGE_START', messageId, role, ...tag }),
  ]
}
