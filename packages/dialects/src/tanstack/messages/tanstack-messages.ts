import type { Chunk, Json, Message, Pending, ToolPart, View } from '@millrace/protocol'
import { resultText } from '../../ag-ui/events/event-to-chunk.ts'
import { PendingInterrupts } from '../../ag-ui/events/interrupts.ts'
import { mediaKindOf } from '../../ag-ui/messages/agui-messages.ts'
import type { AgUiInterrupt } from '../../ag-ui/types.ts'
import { answerableInterrupt } from '../encode/ag-ui-encoder.ts'

/** A message in the format of TanStack AI clients. */
export interface TanstackMessage {
  readonly id: string
  readonly role: 'user' | 'assistant' | 'system'
  readonly parts: readonly TanstackPart[]
}

export type TanstackPart =
  | { readonly type: 'text' | 'thinking'; readonly content: string }
  | {
      readonly type: 'tool-call'
      readonly id: string
      readonly name: string
      readonly arguments: string
      readonly state: string
      readonly input?: Json
      readonly output?: Json
      readonly approval?: { readonly id: string; readonly needsApproval: true; readonly approved?: boolean }
    }
  | { readonly type: 'tool-result'; readonly toolCallId: string; readonly content: string; readonly state: string }
  | { readonly type: 'structured-output'; readonly status: 'complete'; readonly data: Json; readonly raw: string }
  | {
      readonly type: 'image' | 'audio' | 'video' | 'document'
      readonly source: { readonly type: 'url'; readonly value: string; readonly mimeType: string }
    }

/** The messages of a session in the format of TanStack AI clients, without those of sub-agents. */
export function tanstackMessagesOf({ messages, output }: Pick<View, 'messages' | 'output'>): TanstackMessage[] {
  const ownMessages = messages.filter(({ runId, agentId }) => agentId === undefined || agentId === runId)
  const last = ownMessages.at(-1)
  return ownMessages.map(message => {
    const parts = message.parts.flatMap(partsOf)
    // The output object of the last run has its own part.
    if (output !== undefined && message === last && message.runId !== undefined)
      parts.push({ type: 'structured-output', status: 'complete', data: output, raw: JSON.stringify(output) })
    return { id: message.id, role: message.role, parts }
  })
}

function partsOf(part: Message['parts'][number]): TanstackPart[] {
  switch (part.type) {
    case 'text':
      return 'text' in part ? [{ type: 'text', content: part.text as string }] : []
    case 'reasoning':
      return 'text' in part ? [{ type: 'thinking', content: part.text as string }] : []
    case 'tool':
    case 'dynamic-tool':
      return callOf(part as ToolPart)
    case 'file': {
      const { url: value, mediaType: mimeType } = part as unknown as { url: string; mediaType: string }
      return [{ type: mediaKindOf(mimeType), source: { type: 'url', value, mimeType } }]
    }
    default:
      return []
  }
}

const STATES: Readonly<Record<string, string>> = {
  'input-streaming': 'input-streaming',
  'approval-requested': 'approval-requested',
  'approval-responded': 'approval-responded',
  'output-available': 'complete',
  'output-error': 'error',
  'output-denied': 'error',
}

function callOf(part: ToolPart): TanstackPart[] {
  const { toolCallId, toolName: name, input, inputText, state, output, errorText, approval } = part
  const approvalFields = approval && {
    approval: {
      id: `approval:${approval.id}`,
      needsApproval: true as const,
      ...(approval.approved !== undefined && { approved: approval.approved }),
    },
  }
  const call: TanstackPart = {
    type: 'tool-call',
    id: toolCallId,
    name,
    arguments: inputText ?? (input === undefined ? '' : JSON.stringify(input)),
    state: STATES[state] ?? 'input-complete',
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...approvalFields,
  }
  const reason = approval?.reason === undefined ? {} : { reason: approval.reason }
  if (state === 'output-available')
    return [call, resultOf({ type: 'tool-output-available', toolCallId, output: output ?? null })]
  if (state === 'output-error')
    return [call, resultOf({ type: 'tool-output-error', toolCallId, errorText: errorText ?? '' })]
  if (state === 'output-denied') return [call, resultOf({ type: 'tool-output-denied', toolCallId, ...reason })]
  return [call]
}

const resultOf = (chunk: Parameters<typeof resultText>[0]): TanstackPart => ({
  type: 'tool-result',
  toolCallId: chunk.toolCallId,
  content: resultText(chunk),
  state: chunk.type === 'tool-output-available' ? 'complete' : 'error',
})

/** The pendings of a session as interrupts of a run. */
export function tanstackInterruptsOf({ pendings }: Pick<View, 'pendings'>, runId: string): AgUiInterrupt[] {
  const interrupts = new PendingInterrupts()
  for (const pending of pendings) interrupts.track(requestChunkOf(pending))
  return [...interrupts.questions, ...interrupts.calls].map(one => answerableInterrupt(runId, one))
}

/** The chunk of a pending request. */
function requestChunkOf(pending: Pending): Chunk {
  if (pending.kind === 'interrupt') {
    const { interruptId, input, deadline, meta } = pending.interrupt
    return {
      type: 'interrupt',
      interruptId,
      input,
      ...(deadline !== undefined && { deadline }),
      ...(meta !== undefined && { meta }),
    }
  }
  const { toolCallId, toolName, input = null, approval, deadline } = pending.part
  if (pending.kind === 'client-tool') {
    const call = { toolCallId, toolName, input, executor: 'client' as const }
    return { type: 'tool-input-available', ...call, ...(deadline !== undefined && { deadline }) }
  }
  const deadlineField = approval?.deadline === undefined ? {} : { deadline: approval.deadline }
  return { type: 'tool-approval-request', toolCallId, toolName, approvalId: pending.id, input, ...deadlineField }
}
