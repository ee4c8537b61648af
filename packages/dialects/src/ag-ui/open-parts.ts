// What is open in what a client is told: AG-UI wants all of it closed before a run ends, and by whoever opened it.

import type { Json } from '@millrace/protocol'
import { type AgUiEvent, type AgUiInterrupt, derived, type EventOf } from './event.ts'
import { jsonOf } from './event-to-chunk.ts'

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

/** A call whose arguments are on their way. */
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

  /** An input, where its arguments say just that; and else what they say. */
  reads(input: Json): Json {
    if (typeof input === 'string') return this.text === input && jsonOf(input) === input ? input : jsonOf(this.text)
    const found = JSON.stringify(input)
    if (found === this.text) return input
    const said = jsonOf(this.text)
    return JSON.stringify(said) === found ? input : said
  }
}

interface OpenStep {
  readonly stepName: string
  readonly lane: string
  readonly tag: Tag
}

/** Follows what is open, and says what opens and closes it. */
export class OpenParts {
  readonly #messages = new Map<string, OpenMessage>()
  readonly #calls = new Map<string, OpenCall>()
  readonly #steps = new Map<string, OpenStep>()
  readonly #agents = new Map<string, EventOf<'SUBAGENT_STARTED'>>()
  /** Sub-agents begin once. */
  readonly #known = new Set<string>()

  isOpen(messageId: string, role: Role): boolean {
    return this.#messages.get(messageId)?.role === role
  }

  start(messageId: string, role: Role, lane: string, tag: Tag, stands: Annotate): AgUiEvent[] {
    const other = this.#messages.get(messageId)
    const closing = other ? this.end(messageId, other.role, derived) : []
    this.#messages.set(messageId, { messageId, role, lane, tag })
    return [...closing, ...began({ messageId, role, lane, tag }, stands)]
  }

  end(messageId: string, role: Role, stands: Annotate): AgUiEvent[] {
    const found = this.#messages.get(messageId)
    if (!found) return []
    this.#messages.delete(messageId)
    const { tag } = found
    if (role === 'assistant') return [stands({ type: 'TEXT_MESSAGE_END', messageId, ...tag })]
    return [stands({ type: 'REASONING_MESSAGE_END', messageId, ...tag }), { type: 'REASONING_END', messageId, ...tag }]
  }

  call(toolCallId: string): OpenCall | undefined {
    return this.#calls.get(toolCallId)
  }

  startCall(made: { toolCallId: string; toolName: string; parent: string; lane: string; tag: Tag }): AgUiEvent {
    const { toolCallId, toolName: toolCallName, parent: parentMessageId, lane, tag } = made
    const start = { type: 'TOOL_CALL_START', toolCallId, toolCallName, parentMessageId, ...tag } as const
    this.#calls.set(toolCallId, new OpenCall(toolCallName, lane, start))
    return start
  }

  endCall(toolCallId: string, stands: Annotate): AgUiEvent[] {
    const call = this.#calls.get(toolCallId)
    if (!call) return []
    this.#calls.delete(toolCallId)
    const { subagentRunId } = call.start
    const tag = subagentRunId === undefined ? {} : { subagentRunId }
    return [stands({ type: 'TOOL_CALL_END', toolCallId, ...tag })]
  }

  /** A lane has one step open at a time, and an agent none twice. */
  startStep(event: { readonly stepName: string; readonly subagentRunId?: string }, lane: string, said: AgUiEvent) {
    const { stepName, subagentRunId } = event
    const events = this.endStep(lane)
    for (const [other, step] of this.#steps) {
      if (step.stepName === stepName && step.tag.subagentRunId === subagentRunId) events.push(...this.endStep(other))
    }
    this.#steps.set(lane, { stepName, lane, tag: subagentRunId === undefined ? {} : { subagentRunId } })
    return [...events, said]
  }

  endStep(lane: string): AgUiEvent[] {
    const step = this.#steps.get(lane)
    if (!step) return []
    this.#steps.delete(lane)
    return [derived({ type: 'STEP_FINISHED', stepName: step.stepName, ...step.tag })]
  }

  hasAgent(agentId: string): boolean {
    return this.#known.has(agentId)
  }

  /** Whether it is one that has not begun before. */
  startAgent(start: EventOf<'SUBAGENT_STARTED'>): boolean {
    if (this.#known.has(start.subagentRunId)) return false
    this.#known.add(start.subagentRunId)
    this.#agents.set(start.subagentRunId, start)
    return true
  }

  /** Closes all that a sub-agent has open, with those that work for it; undefined where it is not open itself. */
  endAgent(agentId: string): AgUiEvent[] | undefined {
    if (!this.#agents.delete(agentId)) return undefined
    const isIts = ({ subagentRunId }: Tag) => subagentRunId === agentId
    return this.#close(isIts)
  }

  /** Closes what a lane has open. */
  endLane(lane: string): AgUiEvent[] {
    return this.#close((_, of) => of === lane)
  }

  /** Closes everything; sub-agents go on later where the run waits for something, which is said then. */
  endAll(waits: readonly AgUiInterrupt[] | undefined): AgUiEvent[] {
    const events = this.#close(() => true)
    for (const subagentRunId of [...this.#agents.keys()].reverse()) {
      const own = waits?.filter(wait => wait.subagentRunId === subagentRunId).map(({ id }) => id) ?? []
      const outcome = { type: 'suspended', ...(own.length > 0 && { interruptIds: own }) } as const
      events.push(
        derived(
          waits
            ? { type: 'SUBAGENT_FINISHED', subagentRunId, outcome }
            : { type: 'SUBAGENT_ERROR', subagentRunId, message: 'The run ended before this sub-agent did.' },
        ),
      )
    }
    return events
  }

  /** What another connection has to be told again of what is open. */
  again(): AgUiEvent[] {
    const events: AgUiEvent[] = [...this.#agents.values()].map(derived)
    for (const { stepName, tag } of this.#steps.values())
      events.push(derived({ type: 'STEP_STARTED', stepName, ...tag }))
    for (const message of this.#messages.values()) events.push(...began(message, derived))
    for (const { start } of this.#calls.values()) events.push(derived(start))
    return events
  }

  #close(isMeant: (tag: Tag, lane: string) => boolean): AgUiEvent[] {
    const events: AgUiEvent[] = []
    for (const [id, { tag, lane, role }] of this.#messages) {
      if (isMeant(tag, lane)) events.push(...this.end(id, role, derived))
    }
    for (const [id, { start, lane }] of this.#calls) {
      if (isMeant(start, lane)) events.push(...this.endCall(id, derived))
    }
    for (const [lane, { tag }] of this.#steps) if (isMeant(tag, lane)) events.push(...this.endStep(lane))
    return events
  }
}

function began({ messageId, role, tag }: OpenMessage, stands: Annotate): AgUiEvent[] {
  if (role === 'assistant') return [stands({ type: 'TEXT_MESSAGE_START', messageId, role, ...tag })]
  return [
    { type: 'REASONING_START', messageId, ...tag },
    stands({ type: 'REASONING_MESSAGE_START', messageId, role, ...tag }),
  ]
}
