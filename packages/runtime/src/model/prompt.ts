// What the model is sent as history: the view's messages. Each call stands with its outcome, because providers refuse one without the other.

import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import type { Json, Message, Part, ToolPart } from '@millrace/protocol'

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
type UserContent = Extract<LanguageModelV4Message, { role: 'user' }>['content']

/** The prompt that says all of this: the instructions, then message after message. */
export function promptOf(messages: readonly Message[], instructions?: string): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = instructions ? [{ role: 'system', content: instructions }] : []
  for (const message of messages) {
    if (message.role === 'assistant') prompt.push(...replyOf(message))
    else if (message.role === 'system') {
      const content = textOf(message.parts)
      if (content) prompt.push({ role: 'system', content })
    } else {
      const content = message.parts.flatMap(userContentOf)
      if (content.length > 0) prompt.push({ role: 'user', content })
    }
  }
  return prompt
}

const textOf = (parts: readonly Part[]): string =>
  parts.map(part => (part.type === 'text' && 'text' in part ? part.text : '')).join('')

function userContentOf(part: Part): UserContent {
  if (part.type === 'text' && 'text' in part) return part.text ? [{ type: 'text', text: part.text }] : []
  if (part.type === 'file' && 'url' in part) return [fileOf(part)]
  return []
}

/** A reply, step by step: what the model said and called, then what came of the calls. */
function replyOf({ parts }: Message): LanguageModelV4Message[] {
  const steps: Part[][] = [[]]
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([])
    else (steps.at(-1) as Part[]).push(part)
  }
  return steps.flatMap(step => {
    const content = step.flatMap(assistantContentOf)
    const results = step.flatMap(part => (isCall(part) && part.executor !== 'provider' ? resultOf(part) : []))
    const messages: LanguageModelV4Message[] = []
    if (content.length > 0) messages.push({ role: 'assistant', content })
    if (results.length > 0) messages.push({ role: 'tool', content: results })
    return messages
  })
}

function assistantContentOf(part: Part): AssistantContent {
  if (isCall(part)) {
    if (!isWhole(part)) return []
    const { toolCallId, toolName, input = {} } = part
    const isProviders = part.executor === 'provider'
    const call = { type: 'tool-call', toolCallId, toolName, input, ...optionsOf(part) } as const
    return isProviders ? [{ ...call, providerExecuted: true }, ...resultOf(part)] : [call]
  }
  switch (part.type) {
    case 'text':
    case 'reasoning':
      // Reasoning without words may still carry the signature that the next call needs.
      if (!('text' in part) || (!part.text && !('providerMetadata' in part))) return []
      return [{ type: part.type, text: part.text, ...optionsOf(part) }]
    case 'file':
      return 'url' in part ? [fileOf(part)] : []
    default:
      return []
  }
}

const isCall = (part: Part): part is ToolPart => part.type === 'tool' || part.type === 'dynamic-tool'

/** A call that was cut off while its input streamed was never made. */
const isWhole = ({ state, input, code }: ToolPart): boolean =>
  state !== 'input-streaming' && !(state === 'output-error' && code === 'interrupted' && input === undefined)

function resultOf(part: ToolPart): LanguageModelV4ToolResultPart[] {
  if (!isWhole(part)) return []
  const { toolCallId, toolName } = part
  return [{ type: 'tool-result', toolCallId, toolName, output: outcomeOf(part) }]
}

function outcomeOf({ state, output, errorText, approval }: ToolPart): LanguageModelV4ToolResultOutput {
  switch (state) {
    case 'output-available':
      return typeof output === 'string'
        ? { type: 'text', value: output }
        : { type: 'json', value: (output ?? null) as Json }
    case 'output-denied':
      return { type: 'execution-denied', ...(approval?.reason !== undefined && { reason: approval.reason }) }
    default:
      return { type: 'error-text', value: errorText ?? 'the call has no outcome' }
  }
}

function fileOf(part: {
  readonly url: string
  readonly mediaType: string
  readonly filename?: string
}): LanguageModelV4FilePart {
  const { url, mediaType, filename } = part
  const data = /^data:[^,]*;base64,/.exec(url)
  return {
    type: 'file',
    mediaType,
    data: data ? { type: 'data', data: url.slice(data[0].length) } : { type: 'url', url: new URL(url) },
    ...(filename !== undefined && { filename }),
  }
}

/** What a provider said with a part goes back to it with the part. */
function optionsOf(part: object): { providerOptions?: SharedV4ProviderOptions } {
  const { providerMetadata } = part as { providerMetadata?: SharedV4ProviderOptions }
  return providerMetadata ? { providerOptions: providerMetadata } : {}
}
