// The messages of a conversation as a client has them: what a live discard has to be told with, since AG-UI takes nothing back but by saying all that is left.

import type { ChunkOf } from '@millrace/protocol'
import type { AgUiContent, AgUiMessage, AgUiToolCall } from './event.ts'

interface TranscriptLine {
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

/** What a draft changed, by message id. */
export type TranscriptDraft = Map<string, Undo>

/** The messages of a run, after those before it. */
export class Transcript {
  readonly #before: readonly AgUiMessage[]
  readonly #lines = new Map<string, TranscriptLine | AgUiMessage>()
  readonly #owners = new Map<string, TranscriptLine>()
  readonly #results = new Map<string, AgUiMessage[]>()

  constructor(before: readonly AgUiMessage[]) {
    this.#before = before
  }

  /** A whole message, such as a user's. */
  add(message: AgUiMessage): void {
    this.#lines.set(message.id, message)
  }

  /** A message that grows is open now. */
  open(id: string, role: TranscriptLine['role'], draft: TranscriptDraft, subagentRunId?: string): void {
    this.#line(id, role, draft, subagentRunId).content ??= ''
  }

  push(id: string, delta: string, draft: TranscriptDraft): void {
    const line = this.#lines.get(id) as TranscriptLine | undefined
    if (line === undefined) return
    touch(line, draft)
    line.content = `${line.content ?? ''}${delta}`
  }

  call(parent: string, toolCallId: string, name: string, draft: TranscriptDraft, subagentRunId?: string): void {
    if (this.#owners.has(toolCallId)) return
    const line = this.#line(parent, 'assistant', draft, subagentRunId)
    line.calls.set(toolCallId, { name, text: '' })
    this.#owners.set(toolCallId, line)
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

  /** Takes back a draft. Returns whether it changed a message. */
  discard(draft: TranscriptDraft): boolean {
    for (const [id, { length, calls }] of draft) {
      const line = this.#lines.get(id) as TranscriptLine
      for (const call of calls) {
        line.calls.delete(call)
        this.#owners.delete(call)
      }
      line.content = length === undefined ? undefined : line.content?.slice(0, length)
      if (line.content === undefined && line.calls.size === 0) this.#lines.delete(id)
    }
    return draft.size > 0
  }

  /** All that there is, oldest first. */
  messages(): AgUiMessage[] {
    const said = [...this.#lines.values()].flatMap(line => {
      const results = this.#results.get(line.id) ?? []
      return 'calls' in line ? [shown(line), ...results] : [line]
    })
    return [...this.#before, ...said]
  }

  #line(id: string, role: TranscriptLine['role'], draft: TranscriptDraft, subagentRunId?: string): TranscriptLine {
    const found = this.#lines.get(id) as TranscriptLine | undefined
    const line: TranscriptLine = found ?? { id, role, subagentRunId, content: undefined, calls: new Map() }
    if (!found) this.#lines.set(id, line)
    touch(line, draft)
    return line
  }
}

function touch(line: TranscriptLine, draft: TranscriptDraft): void {
  if (!draft.has(line.id)) draft.set(line.id, { length: line.content?.length, calls: new Set() })
}

function shown({ id, role, subagentRunId, content, calls }: TranscriptLine): AgUiMessage {
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

/** A message that came whole, as clients have it. */
export function messageOf(chunk: ChunkOf<'message'>): AgUiMessage {
  const { messageId: id, role, parts } = chunk
  if (role === 'user') return { id, role, content: contentOf(parts) }
  const content = parts.flatMap(part => (part.type === 'text' ? [part.text as string] : [])).join('')
  return role === 'assistant' ? { id, role, content } : { id, role: 'system', content }
}

type Parts = readonly { readonly type: string }[]

/** What a person said; only words are just a text. */
function contentOf(parts: Parts): string | AgUiContent[] {
  const content = parts.flatMap(partOf)
  const [first] = content
  if (first === undefined) return ''
  return content.length === 1 && first.type === 'text' ? first.text : content
}

function partOf(part: Parts[number]): AgUiContent[] {
  const {
    type,
    text = '',
    url,
    mediaType = '',
  } = part as { type: string; text?: string; url?: string; mediaType?: string }
  if (type === 'text') return [{ type: 'text', text }]
  return type === 'file' && url !== undefined ? [{ type: mediumOf(mediaType), source: sourceOf(url, mediaType) }] : []
}

const MEDIA = ['image', 'audio', 'video'] as const

const mediumOf = (mediaType: string) => MEDIA.find(medium => mediaType.startsWith(`${medium}/`)) ?? 'document'

function sourceOf(url: string, mimeType: string) {
  const [, value] = /^data:[^,]*;base64,(.*)$/s.exec(url) ?? []
  return value === undefined
    ? ({ type: 'url', value: url, mimeType } as const)
    : ({ type: 'data', value, mimeType } as const)
}
