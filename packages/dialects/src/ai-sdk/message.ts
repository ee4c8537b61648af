// Messages as pages of the AI SDK have them: what a session shows, for `useChat({ messages })`.

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
import { fitting } from './chunk.ts'
import { type AiSdkExtension, approvalName, callName, EXTENSION, interruptName, structuredName } from './extension.ts'

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

/** What of a view its messages are made of. */
export type Shown = Pick<View, 'messages'> & Partial<Pick<View, 'interrupts' | 'structured' | 'runs' | 'pendings'>>

/** A part, and where it stands. */
interface Placed {
  readonly at: number
  readonly part: UIMessagePart
}

/** The messages of a view as a page of the AI SDK has them after it followed the session: those of sub-agents are not among them, but what they ask is. */
export function uiMessagesOf(view: Shown): UIMessage[] {
  const extensions = extensionsIn(view)
  return view.messages.flatMap(message => {
    const { id, role, metadata, parent } = message
    if (parent) return []
    const own = message.parts.flatMap(part => ({ at: part.at, part: uiPartOf(part) })).filter(isPlaced)
    const kept = extensions.get(id)
    const placed = kept ? [...own, ...kept].sort((a, b) => a.at - b.at) : own
    if (placed.length === 0 && role !== 'assistant') return []
    return [{ id, role, parts: placed.map(({ part }) => part), ...(metadata && { metadata }) }]
  })
}

const isPlaced = (placed: { at: number; part: UIMessagePart | undefined }): placed is Placed =>
  placed.part !== undefined

/** What an answer keeps that the AI SDK has no part for: questions, structured objects, and what sub-agents wait for. By the message that it is in. */
function extensionsIn({
  messages,
  interrupts = [],
  structured = [],
  runs = [],
  pendings = [],
}: Shown): Map<string, Placed[]> {
  const found = new Map<string, Placed[]>()
  const put = (runId: string | undefined, at: number, id: string, data: AiSdkExtension) => {
    if (runId === undefined) return
    const message = messageIdOf(runId, runId)
    found.set(message, [...(found.get(message) ?? []), { at, part: { type: EXTENSION, id, data } }])
  }
  for (const interrupt of interrupts)
    put(interrupt.runId, interrupt.at, interruptName(interrupt.interruptId), { chunk: questionOf(interrupt) })
  for (const { at, status, data, ...about } of structured) {
    if (status !== 'done') continue
    const chunk = { ...about, type: 'structured-data', kind: 'final', data: data as Json } as const
    put(runs.findLast(run => run.at <= at)?.runId, at, structuredName(about.streamId), { chunk })
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
    put(children.get(messageId), part.at, kind === 'approval' ? approvalName(id) : callName(toolCallId), { chunk })
  }
  return found
}

/** A question that waits, or what was answered. */
function questionOf(interrupt: Interrupt): Chunk {
  const { interruptId, status, response, input, schemaId, schemaVersion, meta, deadline } = interrupt
  if (status !== 'open') return { type: 'interrupt-response', interruptId, response: response ?? null }
  const more = { schemaId, schemaVersion, meta, deadline }
  return { type: 'interrupt', interruptId, input, ...given(more) } as Chunk
}

/** A part as the AI SDK has it; undefined where it has none. */
function uiPartOf(part: Part): UIMessagePart | undefined {
  const { type } = part
  switch (part.type) {
    case 'text':
    case 'reasoning': {
      const { text, state, providerMetadata } = fitting(part)
      return { type, text, state, ...given({ providerMetadata }) }
    }
    case 'tool':
    case 'dynamic-tool':
      return toolPartOf(part)
    case 'file': {
      const { url, mediaType, filename, providerMetadata } = fitting(part as Metadata<typeof part>)
      return { type, url, mediaType, ...given({ filename, providerMetadata }) }
    }
    case 'source-url': {
      const { sourceId, url, title, providerMetadata } = fitting(part as Metadata<typeof part>)
      return { type, sourceId, url, ...given({ title, providerMetadata }) }
    }
    case 'source-document': {
      const { sourceId, mediaType = 'text/plain', filename, providerMetadata } = fitting(part as Metadata<typeof part>)
      const { title = filename ?? '' } = part
      return { type, sourceId, mediaType, title, ...given({ filename, providerMetadata }) }
    }
    case 'step-start':
      return { type }
    default: {
      if (!type.startsWith('data-') || type === EXTENSION) return undefined
      const { id, data } = part as { id?: string; data?: Json }
      return { type, data, ...given({ id }) }
    }
  }
}

type Metadata<P> = P & { providerMetadata?: JsonObject }

function toolPartOf(part: ToolPart): UIMessagePart {
  const { toolCallId, toolName, title, executor, input, output, progress, errorText = '', approval } = part
  const { providerMetadata } = fitting(part)
  const call: UIMessagePart = {
    ...(part.type === 'tool' ? { type: `tool-${toolName}` } : { type: part.type, toolName }),
    toolCallId,
    ...given({ title, input, callProviderMetadata: providerMetadata }),
    ...(executor === 'provider' && { providerExecuted: true }),
  }
  const { id = toolCallId, approved, reason, isAutomatic } = approval ?? {}
  const asked = { id, ...(isAutomatic && { isAutomatic }) }
  const answered = { ...asked, approved, ...given({ reason }) }
  const granted = approved ? { approval: answered } : {}
  const { state } = part
  switch (state) {
    case 'approval-requested':
      return { ...call, state, approval: asked }
    case 'output-denied':
      return { ...call, state, approval: { ...answered, approved: false } }
    case 'output-available':
      return { ...call, state, output, ...granted }
    case 'output-error':
      return { ...call, state, errorText, ...granted }
    case 'input-streaming':
      return { ...call, state }
    default:
      // To a page, progress is an output that another will replace.
      if (progress !== undefined)
        return { ...call, state: 'output-available', output: progress, preliminary: true, ...granted }
      return state === 'approval-responded' ? { ...call, state, approval: answered } : { ...call, state }
  }
}

/** The fields that are there. */
function given<T extends object>(fields: T): Partial<T> {
  const found: Partial<T> = {}
  for (const key in fields) if (fields[key] !== undefined) found[key] = fields[key]
  return found
}
