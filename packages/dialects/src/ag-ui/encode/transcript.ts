// The messages that a client has. AG-UI cannot retract a message, so a discard sends all remaining messages.

import type { AgUiMessage, AgUiToolCall } from '../types.ts'

interface TranscriptMessage {
  readonly id: string
  readonly role: 'assistant' | 'reasoning'
  readonly subagentRunId?: string | undefined
  content: string | undefined
  readonly calls: Map<string, { readonly name: string; text: string }>
}

/** How to take a draft back from a message: the length of its text before, and the calls that the draft added. */
interface Undo {
  readonly length: number | undefined
  readonly calls: Set<string>
}

/** Changes by a draft, by message id. */
export type TranscriptDraft = Map<string, Undo>

/** The messages of a run, after those before it. */
export class Transcript {
  readonly #before: readonly AgUiMessage[]
  readonly #messages = new Map<string, TranscriptMessage | AgUiMessage>()
  readonly #owners = new Map<string, TranscriptMessage>()
  readonly #results = new Map<string, AgUiMessage[]>()

  constructor(before: readonly AgUiMessage[]) {
    this.#before = before
  }

  /** Adds a complete message, such as a user message. */
  add(message: AgUiMessage): void {
    this.#messages.set(message.id, message)
  }

  /** Opens a streamed message. */
  open(id: string, role: TranscriptMessage['role'], draft: TranscriptDraft, subagentRunId?: string): void {
    this.#openMessage(id, role, draft, subagentRunId).content ??= ''
  }

  push(id: string, delta: string, draft: TranscriptDraft): void {
    const message = this.#messages.get(id) as TranscriptMessage | undefined
    if (message === undefined) return
    recordUndo(message, draft)
    message.content = `${message.content ?? ''}${delta}`
  }

  call(parent: string, toolCallId: string, name: string, draft: TranscriptDraft, subagentRunId?: string): void {
    if (this.#owners.has(toolCallId)) return
    const message = this.#openMessage(parent, 'assistant', draft, subagentRunId)
    message.calls.set(toolCallId, { name, text: '' })
    this.#owners.set(toolCallId, message)
    draft.get(parent)?.calls.add(toolCallId)
  }

  args(toolCallId: string, delta: string): void {
    const call = this.#owners.get(toolCallId)?.calls.get(toolCallId)
    if (call) call.text += delta
  }

  result(toolCallId: string, message: AgUiMessage): void {
    const owner = this.#owners.get(toolCallId)?.id ?? ''
    const results = this.#results.get(owner)
    if (results) results.push(message)
    else this.#results.set(owner, [message])
  }

  /** Discards a draft. Returns whether it changed a message. */
  discard(draft: TranscriptDraft): boolean {
    for (const [id, { length, calls }] of draft) {
      const message = this.#messages.get(id) as TranscriptMessage
      for (const call of calls) {
        message.calls.delete(call)
        this.#owners.delete(call)
      }
      message.content = length === undefined ? undefined : message.content?.slice(0, length)
      if (message.content === undefined && message.calls.size === 0) this.#messages.delete(id)
    }
    return draft.size > 0
  }

  /** All messages, oldest first. */
  messages(): AgUiMessage[] {
    const messages = [...this.#messages.values()].flatMap(message => {
      const results = this.#results.get(message.id) ?? []
      return 'calls' in message ? [agUiMessageOf(message), ...results] : [message]
    })
    return [...this.#before, ...messages]
  }

  #openMessage(
    id: string,
    role: TranscriptMessage['role'],
    draft: TranscriptDraft,
    subagentRunId?: string,
  ): TranscriptMessage {
    const found = this.#messages.get(id) as TranscriptMessage | undefined
    const message: TranscriptMessage = found ?? { id, role, subagentRunId, content: undefined, calls: new Map() }
    if (!found) this.#messages.set(id, message)
    recordUndo(message, draft)
    return message
  }
}

function recordUndo(message: TranscriptMessage, draft: TranscriptDraft): void {
  if (!draft.has(message.id)) draft.set(message.id, { length: message.content?.length, calls: new Set() })
}

function agUiMessageOf({ id, role, subagentRunId, content, calls }: TranscriptMessage): AgUiMessage {
  const tag = subagentRunId === undefined ? {} : { subagentRunId }
  if (role === 'reasoning') return { id, role, content: content ?? '', ...tag }
  const toolCalls: AgUiToolCall[] = [...calls].map(([id, { name, text }]) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }))
  return {
    id,
    role,
    ...(content !== undefined && { content }),
    ...(toolCalls.length > 0 && { toolCalls }),
    ...tag,
  }
}
