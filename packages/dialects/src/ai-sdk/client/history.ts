// Decodes the stored messages of a session, which a server of the AI SDK returns when a session is reopened.

import { type MessageChunk, ProtocolError } from '@millrace/protocol'
import type { DecodedChunk } from '../../dialect/dialect.ts'
import { AiSdkDecoder } from '../decoder.ts'
import type { UIMessage, UIMessagePart } from '../messages/ui-messages.ts'
import type { UIMessageChunk } from '../types.ts'

/**
 * Decodes UI messages, oldest first. A user message is one chunk, a reply is the chunks of its parts.
 * @throws a `ProtocolError` if the value is not a list of messages.
 */
export function decodeHistory(messages: unknown): DecodedChunk[] {
  if (!Array.isArray(messages)) throw new ProtocolError('invalid-field', 'messages: expected an array')
  return messages.flatMap((message: UIMessage): readonly DecodedChunk[] => {
    if (typeof message?.id !== 'string' || !Array.isArray(message.parts))
      throw new ProtocolError('invalid-field', 'messages: expected an id and parts')
    if (message.role === 'user') return [{ chunk: userMessageOf(message) }]
    // System messages belong to the server.
    if (message.role !== 'assistant') return []
    const decoder = new AiSdkDecoder()
    return eventsOfMessage(message).flatMap(event => decoder.decode(event as UIMessageChunk))
  })
}

const userMessageOf = ({ id: messageId, parts, metadata }: UIMessage): MessageChunk =>
  ({
    type: 'message',
    messageId,
    role: 'user',
    parts: parts.filter(({ type }) => type === 'text' || type === 'file').map(({ state, ...part }) => part),
    ...(metadata && { metadata }),
  }) as MessageChunk

type Event = { readonly type: string; readonly [field: string]: unknown }

function eventsOfMessage({ id, parts, metadata }: UIMessage): Event[] {
  return [
    { type: 'start', messageId: id, ...(metadata && { messageMetadata: metadata }) },
    ...parts.flatMap((part, i) => eventsOfPart(part, `${i}`)),
  ]
}

/** The stream events that a part would have arrived as. */
function eventsOfPart(part: UIMessagePart, id: string): Event[] {
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
      return typeof part['toolCallId'] === 'string' ? eventsOfCall(part) : [part as Event]
  }
}

function eventsOfCall(part: UIMessagePart): Event[] {
  const { type, toolCallId, state, input = null, output, errorText, preliminary, title, providerExecuted } = part
  const dynamic = type === 'dynamic-tool' ? { dynamic: true } : {}
  const call = { toolCallId, ...dynamic, ...(providerExecuted === true && { providerExecuted }) }
  const toolName = part['toolName'] ?? type.slice('tool-'.length)
  const { callProviderMetadata: providerMetadata } = part
  const namedCall = {
    ...call,
    toolName,
    ...(title !== undefined && { title }),
    ...(providerMetadata !== undefined && { providerMetadata }),
  }
  // An input that was never completed is not a call.
  if (state === 'input-streaming') return [{ type: 'tool-input-start', ...namedCall }]
  const events: Event[] = [{ type: 'tool-input-available', ...namedCall, input }]
  const { id: approvalId, approved, reason } = Object(part['approval'])
  if (approvalId !== undefined) events.push({ type: 'tool-approval-request', approvalId, toolCallId })
  if (approved !== undefined)
    events.push({ type: 'tool-approval-response', approvalId, approved, ...(reason !== undefined && { reason }) })
  if (state === 'output-available')
    events.push({ type: 'tool-output-available', ...call, output, ...(preliminary === true && { preliminary }) })
  else if (state === 'output-error') events.push({ type: 'tool-output-error', ...call, errorText })
  else if (state === 'output-denied') events.push({ type: 'tool-output-denied', toolCallId })
  return events
}
