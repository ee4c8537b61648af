import type { Message, ToolPart, View } from '@millrace/protocol'
import type { AgUiMessage, AgUiToolCall } from './event.ts'
import { resultText, UNSETTLED } from './event-to-chunk.ts'
import { messageOf } from './transcript.ts'

interface MessageRow {
  readonly at: number
  readonly message: AgUiMessage
  readonly calls: AgUiToolCall[]
  readonly results: AgUiMessage[]
}

/** The messages of a session, as clients of AG-UI have them: one for each text and each reasoning, with the calls that follow it, and one for each result. */
export function aguiMessagesOf({ messages }: Pick<View, 'messages'>): AgUiMessage[] {
  const lines = messages.flatMap(linesOf)
  // What sub-agents say stands where it was said.
  lines.sort((a, b) => a.at - b.at)
  return lines.flatMap(({ message, calls, results }) => [
    calls.length > 0 ? ({ ...message, toolCalls: calls } as AgUiMessage) : message,
    ...results,
  ])
}

function linesOf({ id, role, at, parts, runId, agentId }: Message): MessageRow[] {
  if (runId === undefined) {
    const message = messageOf({ type: 'message', messageId: id, role, parts: parts as [] })
    return [{ at, message, calls: [], results: [] }]
  }
  const tag = agentId === undefined || agentId === runId ? {} : { subagentRunId: agentId }
  const lines: MessageRow[] = []
  /** Where the next call belongs. */
  let owner: MessageRow | undefined
  const add = (at: number, message: AgUiMessage): MessageRow => {
    const line = { at, message, calls: [], results: [] }
    lines.push(line)
    return line
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
      const content = contentOf(call)
      if (content !== undefined)
        owner.results.push({ id: `${id}/result:${toolCallId}`, role: 'tool', toolCallId, content, ...tag })
    }
  }
  return lines
}

function callOf({ toolCallId: id, toolName: name, input, inputText }: ToolPart): AgUiToolCall {
  const text = inputText ?? (input === undefined ? '' : typeof input === 'string' ? input : JSON.stringify(input))
  return { id, type: 'function', function: { name, arguments: text } }
}

/** What came of a call; undefined while nothing has. */
function contentOf({
  toolCallId,
  state,
  output = null,
  errorText = UNSETTLED,
  approval,
}: ToolPart): string | undefined {
  if (state === 'output-available') return resultText({ type: 'tool-output-available', toolCallId, output })
  if (state === 'output-error') return resultText({ type: 'tool-output-error', toolCallId, errorText })
  if (state !== 'output-denied') return undefined
  const reason = approval?.reason
  return resultText({ type: 'tool-output-denied', toolCallId, ...(reason !== undefined && { reason }) })
}
