// Messages that a page of the AI SDK has, as they were said: what a server gives who opens a session again.

import { type MessageChunk, ProtocolError } from '@millrace/protocol'
import type { DecodedChunk } from '../dialect/dialect.ts'
import type { UIMessageChunk } from './chunk.ts'
import { AiSdkDecoder } from './decoder.ts'
import type { UIMessage, UIMessagePart } from './message.ts'

/** What messages say, oldest first: of a person's the message, of an answer its chunks. Throws a `ProtocolError` for what is no message. */
export function toldIn(messages: unknown): DecodedChunk[] {
  if (!Array.isArray(messages)) throw new ProtocolError('invalid-field', 'messages: expected a list')
  return messages.flatMap((message: UIMessage): readonly DecodedChunk[] => {
    if (typeof message?.id !== 'string' || !Array.isArray(message.parts))
      throw new ProtocolError('invalid-field', 'messages: expected an id and parts')
    if (message.role === 'user') return [{ chunk: saidIn(message) }]
    // What a system is told is the server's affair.
    if (message.role !== 'assistant') return []
    const decoder = new AiSdkDecoder()
    return eventsIn(message).flatMap(event => decoder.decode(event as UIMessageChunk))
  })
}

const saidIn = ({ id: messageId, parts, metadata }: UIMessage): MessageChunk =>
  ({
    type: 'message',
    messageId,
    role: 'user',
    parts: parts.filter(({ type }) => type === 'text' || type === 'file').map(({ state, ...part }) => part),
    ...(metadata && { metadata }),
  }) as MessageChunk

type Event = { readonly type: string; readonly [field: string]: unknown }

function eventsIn({ id, parts, metadata }: UIMessage): Event[] {
  return [
    { type: 'start', messageId: id, ...(metadata && { messageMetadata: metadata }) },
    ...parts.flatMap((part, i) => eventsOf(part, `${i}`)),
  ]
}

/** The chunks by which a part would have come. */
function eventsOf(part: UIMessagePart, id: string): Event[] {
  const { type, text, state, ...rest } = part
  switch (type) {
    case 'text':
    case 'reasoning':
      return [
        { type: `${type}-start`, id, ...rest },
        { type: `${type}-delta`, id, delta: text },
        { type: `${type}-end`, id },
      ]
    case 'step-start':
      return [{ type: 'start-step' }]
    default:
      return typeof part['toolCallId'] === 'string' ? callEvents(part) : [part as Event]
  }
}

function callEvents(part: UIMessagePart): Event[] {
  const { type, toolCallId, state, input = null, output, errorText, preliminary, title, providerExecuted } = part
  const dynamic = type === 'dynamic-tool' ? { dynamic: true } : {}
  const of = { toolCallId, ...dynamic, ...(providerExecuted === true && { providerExecuted }) }
  const toolName = part['toolName'] ?? type.slice('tool-'.length)
  const { callProviderMetadata: providerMetadata } = part
  const about = {
    ...of,
    toolName,
    ...(title !== undefined && { title }),
    ...(providerMetadata !== undefined && { providerMetadata }),
  }
  // What was cut off in the middle of its input never was a call.
  if (state === 'input-streaming') return [{ type: 'tool-input-start', ...about }]
  const events: Event[] = [{ type: 'tool-input-available', ...about, input }]
  const { id: approvalId, approved, reason } = Object(part['approval'])
  if (approvalId !== undefined) events.push({ type: 'tool-approval-request', approvalId, toolCallId })
  if (approved !== undefined)
    events.push({ type: 'tool-approval-response', approvalId, approved, ...(reason !== undefined && { reason }) })
  if (state === 'output-available')
    events.push({ type: 'tool-output-available', ...of, output, ...(preliminary === true && { preliminary }) })
  else if (state === 'output-error') events.push({ type: 'tool-output-error', ...of, errorText })
  else if (state === 'output-denied') events.push({ type: 'tool-output-denied', toolCallId })
  return events
}
