// Messages of a session in the format of `useChat({ messages })`.

import {
  type Chunk,
  type Interrupt,
  type Json,
  type JsonObject,
  messageIdOf,
  type Part,
  type ToolPart,
  type View,
} from '@millrace/protocol'
import { defined } from '../../dialect/fields.ts'
import { withValidMetadata } from '../events/chunk-to-event.ts'
import {
  type AiSdkExtension,
  approvalPartId,
  callPartId,
  EXTENSION,
  interruptPartId,
  structuredPartId,
} from '../events/extension.ts'

/** A part of a UI message. */
export interface UIMessagePart {
  readonly type: string
  readonly [field: string]: unknown
}

/** A message, as `useChat` has it. */
export interface UIMessage {
  readonly id: string
  readonly role: 'system' | 'user' | 'assistant'
  readonly parts: UIMessagePart[]
  readonly metadata?: JsonObject
}

/** The fields of a view that `uiMessagesOf` reads. */
export type UIMessagesInput = Pick<View, 'messages'> &
  Partial<Pick<View, 'interrupts' | 'structured' | 'runs' | 'pendings'>>

/** A part and its position in the log. */
interface PositionedUIPart {
  readonly at: number
  readonly part: UIMessagePart
}

/**
 * The messages of a view as `useChat` would have them after it streamed the session. Messages of sub-agents are left out, but their open questions
 * are included.
 */
export function uiMessagesOf(view: UIMessagesInput): UIMessage[] {
  const extensions = extensionsIn(view)
  return view.messages.flatMap(message => {
    const { id, role, metadata, parent } = message
    if (parent) return []
    const uiParts = message.parts.flatMap(part => ({ at: part.at, part: uiPartOf(part) })).filter(hasPart)
    const extensionParts = extensions.get(id)
    const positioned = extensionParts ? [...uiParts, ...extensionParts].sort((a, b) => a.at - b.at) : uiParts
    if (positioned.length === 0 && role !== 'assistant') return []
    return [{ id, role, parts: positioned.map(({ part }) => part), ...(metadata && { metadata }) }]
  })
}

const hasPart = (positioned: { at: number; part: UIMessagePart | undefined }): positioned is PositionedUIPart =>
  positioned.part !== undefined

/** Parts of a reply that the AI SDK has no type for: interrupts, structured objects, and what sub-agents wait for. By message id. */
function extensionsIn({
  messages,
  interrupts = [],
  structured = [],
  runs = [],
  pendings = [],
}: UIMessagesInput): Map<string, PositionedUIPart[]> {
  const partsByMessage = new Map<string, PositionedUIPart[]>()
  const addPart = (runId: string | undefined, at: number, id: string, data: AiSdkExtension) => {
    if (runId === undefined) return
    const message = messageIdOf(runId, runId)
    partsByMessage.set(message, [...(partsByMessage.get(message) ?? []), { at, part: { type: EXTENSION, id, data } }])
  }
  for (const interrupt of interrupts)
    addPart(interrupt.runId, interrupt.at, interruptPartId(interrupt.interruptId), {
      chunk: interruptChunkOf(interrupt),
    })
  for (const { at, status, data, ...fields } of structured) {
    if (status !== 'done') continue
    const chunk = { ...fields, type: 'structured-data', kind: 'final', data: data as Json } as const
    addPart(runs.findLast(run => run.at <= at)?.runId, at, structuredPartId(fields.streamId), { chunk })
  }
  const children = new Map(messages.flatMap(({ id, runId, parent }) => (parent ? [[id, runId] as const] : [])))
  for (const pending of pendings) {
    if (pending.kind === 'interrupt' || !children.has(pending.messageId)) continue
    const { part, messageId, id, kind } = pending
    const { toolCallId, toolName, input = null, approval } = part
    const chunk: Chunk =
      kind === 'approval'
        ? { type: 'tool-approval-request', toolCallId, toolName, input, approvalId: approval?.id ?? id }
        : { type: 'tool-input-available', toolCallId, toolName, input, executor: 'client' }
    addPart(children.get(messageId), part.at, kind === 'approval' ? approvalPartId(id) : callPartId(toolCallId), {
      chunk,
    })
  }
  return partsByMessage
}

/** The chunk of an open interrupt, or of its response. */
function interruptChunkOf(interrupt: Interrupt): Chunk {
  const { interruptId, status, response, input, schemaId, schemaVersion, meta, deadline } = interrupt
  if (status !== 'open') return { type: 'interrupt-response', interruptId, response: response ?? null }
  const options = { schemaId, schemaVersion, meta, deadline }
  return { type: 'interrupt', interruptId, input, ...defined(options) } as Chunk
}

/** Undefined if the AI SDK has no type for the part. */
function uiPartOf(part: Part): UIMessagePart | undefined {
  const { type } = part
  switch (part.type) {
    case 'text':
    case 'reasoning': {
      const { text, state, providerMetadata } = withValidMetadata(part)
      return { type, text, state, ...defined({ providerMetadata }) }
    }
    case 'tool':
    case 'dynamic-tool':
      return toolPartOf(part)
    case 'file': {
      const { url, mediaType, filename, providerMetadata } = withValidMetadata(part as Metadata<typeof part>)
      return { type, url, mediaType, ...defined({ filename, providerMetadata }) }
    }
    case 'source-url': {
      const { sourceId, url, title, providerMetadata } = withValidMetadata(part as Metadata<typeof part>)
      return { type, sourceId, url, ...defined({ title, providerMetadata }) }
    }
    case 'source-document': {
      const {
        sourceId,
        mediaType = 'text/plain',
        filename,
        providerMetadata,
      } = withValidMetadata(part as Metadata<typeof part>)
      const { title = filename ?? '' } = part
      return { type, sourceId, mediaType, title, ...defined({ filename, providerMetadata }) }
    }
    case 'step-start':
      return { type }
    default: {
      if (!type.startsWith('data-') || type === EXTENSION) return undefined
      const { id, data } = part as { id?: string; data?: Json }
      return { type, data, ...defined({ id }) }
    }
  }
}

type Metadata<P> = P & { providerMetadata?: JsonObject }

function toolPartOf(part: ToolPart): UIMessagePart {
  const { toolCallId, toolName, title, executor, input, output, progress, errorText = '', approval } = part
  const { providerMetadata } = withValidMetadata(part)
  const call: UIMessagePart = {
    ...(part.type === 'tool' ? { type: `tool-${toolName}` } : { type: part.type, toolName }),
    toolCallId,
    ...defined({ title, input, callProviderMetadata: providerMetadata }),
    ...(executor === 'provider' && { providerExecuted: true }),
  }
  const { id = toolCallId, approved, reason, isAutomatic } = approval ?? {}
  const request = { id, ...(isAutomatic && { isAutomatic }) }
  const response = { ...request, approved, ...defined({ reason }) }
  const approvalIfGranted = approved ? { approval: response } : {}
  const { state } = part
  switch (state) {
    case 'approval-requested':
      return { ...call, state, approval: request }
    case 'output-denied':
      return { ...call, state, approval: { ...response, approved: false } }
    case 'output-available':
      return { ...call, state, output, ...approvalIfGranted }
    case 'output-error':
      return { ...call, state, errorText, ...approvalIfGranted }
    case 'input-streaming':
      return { ...call, state }
    default:
      // Clients take progress as a preliminary output.
      if (progress !== undefined)
        return { ...call, state: 'output-available', output: progress, preliminary: true, ...approvalIfGranted }
      return state === 'approval-responded' ? { ...call, state, approval: response } : { ...call, state }
  }
}
