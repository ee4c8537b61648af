import type { ChunkOf, Message, ToolPart, View } from '@millrace/protocol'
import { UNSETTLED_RESULT } from '../../dialect/tool-result.ts'
import { resultText } from '../events/event-to-chunk.ts'
import type { AgUiContent, AgUiMessage, AgUiToolCall } from '../types.ts'

interface MessageRow {
  readonly at: number
  readonly message: AgUiMessage
  readonly calls: AgUiToolCall[]
  readonly results: AgUiMessage[]
}

/** The messages of a session in the format of AG-UI: one for each text and reasoning, with the calls that follow it, and one for each result. */
export function aguiMessagesOf({ messages }: Pick<View, 'messages'>): AgUiMessage[] {
  const rows = messages.flatMap(rowsOf)
  // Messages of sub-agents are in the order of the log.
  rows.sort((a, b) => a.at - b.at)
  return rows.flatMap(({ message, calls, results }) => [
    calls.length > 0 ? ({ ...message, toolCalls: calls } as AgUiMessage) : message,
    ...results,
  ])
}

function rowsOf({ id, role, at, parts, runId, agentId }: Message): MessageRow[] {
  if (runId === undefined) {
    const message = messageOf({ type: 'message', messageId: id, role, parts: parts as [] })
    return [{ at, message, calls: [], results: [] }]
  }
  const tag = agentId === undefined || agentId === runId ? {} : { subagentRunId: agentId }
  const rows: MessageRow[] = []
  /** The message that the next call belongs to. */
  let owner: MessageRow | undefined
  const add = (at: number, message: AgUiMessage): MessageRow => {
    const row = { at, message, calls: [], results: [] }
    rows.push(row)
    return row
  }
  for (const part of parts) {
    if (part.type === 'step-start') owner = undefined
    else if (part.type === 'reasoning' && 'state' in part) {
      add(part.at, { id: `${id}/${part.id}`, role: 'reasoning', content: part.text, ...tag })
    } else if (part.type === 'text' && 'state' in part) {
      owner = add(part.at, { id: `${id}/${part.id}`, role: 'assistant', content: part.text, ...tag })
    } else if (part.type === 'tool' || part.type === 'dynamic-tool') {
      const call = part as ToolPart
      const { toolCallId } = call
      owner ??= add(part.at, { id: `${id}/call:${toolCallId}`, role: 'assistant', ...tag })
      owner.calls.push(callOf(call))
      const content = resultContentOf(call)
      if (content !== undefined)
        owner.results.push({ id: `${id}/result:${toolCallId}`, role: 'tool', toolCallId, content, ...tag })
    }
  }
  return rows
}

function callOf({ toolCallId: id, toolName: name, input, inputText }: ToolPart): AgUiToolCall {
  const text = inputText ?? (input === undefined ? '' : typeof input === 'string' ? input : JSON.stringify(input))
  return { id, type: 'function', function: { name, arguments: text } }
}

/** The result of a call. Undefined while it has none. */
function resultContentOf({
  toolCallId,
  state,
  output = null,
  errorText = UNSETTLED_RESULT,
  approval,
}: ToolPart): string | undefined {
  if (state === 'output-available') return resultText({ type: 'tool-output-available', toolCallId, output })
  if (state === 'output-error') return resultText({ type: 'tool-output-error', toolCallId, errorText })
  if (state !== 'output-denied') return undefined
  const reason = approval?.reason
  return resultText({ type: 'tool-output-denied', toolCallId, ...(reason !== undefined && { reason }) })
}

/** Converts a complete message. */
export function messageOf(chunk: ChunkOf<'message'>): AgUiMessage {
  const { messageId: id, role, parts } = chunk
  if (role === 'user') return { id, role, content: contentOf(parts) }
  const content = parts.flatMap(part => (part.type === 'text' ? [part.text as string] : [])).join('')
  return role === 'assistant' ? { id, role, content } : { id, role: 'system', content }
}

type Parts = readonly { readonly type: string }[]

/** The content of a user message. A single text is a string. */
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
  return type === 'file' && url !== undefined
    ? [{ type: mediaKindOf(mediaType), source: sourceOf(url, mediaType) }]
    : []
}

const MEDIA = ['image', 'audio', 'video'] as const

/** The kind of a content part, by the media type of its file. */
export const mediaKindOf = (mediaType: string) => MEDIA.find(kind => mediaType.startsWith(`${kind}/`)) ?? 'document'

function sourceOf(url: string, mimeType: string) {
  const [, value] = /^data:[^,]*;base64,(.*)$/s.exec(url) ?? []
  return value === undefined
    ? ({ type: 'url', value: url, mimeType } as const)
    : ({ type: 'data', value, mimeType } as const)
}
