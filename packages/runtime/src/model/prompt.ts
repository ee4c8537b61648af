// Converts the messages of a view to a prompt. Providers reject a call without its result, so each call is followed by it.
// The order of roles satisfies the strictest provider: system first, then user, then alternating, never ending with assistant.

import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import type { Json, Message, Part, ToolPart } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { PROVIDER_CONTENT } from './model-answer.ts'

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']
type UserContent = Extract<LanguageModelV4Message, { role: 'user' }>['content']

/** A user message that the runtime wrote, not a user. */
export const syntheticMessage = (text: string): LanguageModelV4Message => ({
  role: 'user',
  content: [{ type: 'text', text }],
  providerOptions: { millrace: { isAdded: true } },
})

/** Inserted where a provider requires a user message and there is none, such as after an interrupted answer. */
const CONTINUE = syntheticMessage('Go on.')

/** Whether the runtime wrote this message. */
export const isSynthetic = ({ providerOptions }: LanguageModelV4Message): boolean =>
  providerOptions?.['millrace']?.['isAdded'] === true

/** The prompt of a conversation: the instructions, then its messages. */
export function promptOf(messages: readonly Message[], instructions?: string): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = []
  const systemTexts = messages.filter(({ role }) => role === 'system').map(({ parts }) => textOf(parts))
  const content = [instructions ?? '', ...systemTexts].filter(isNotBlank).join('\n\n')
  if (content) prompt.push({ role: 'system', content })
  for (const message of messages) {
    if (message.role === 'assistant') for (const part of replyOf(message)) addMessage(prompt, part)
    else if (message.role === 'user') {
      const content = message.parts.flatMap(userContentOf)
      if (content.length > 0) addMessage(prompt, { role: 'user', content })
    }
  }
  if (needsUserMessage(prompt)) prompt.push(CONTINUE)
  return prompt
}

/** Adds a message. Merges consecutive user messages and separates consecutive assistant messages. */
function addMessage(prompt: LanguageModelV4Message[], message: LanguageModelV4Message): void {
  const last = prompt.at(-1)
  if (message.role === 'user' && last?.role === 'user') {
    prompt[prompt.length - 1] = { ...last, content: [...last.content, ...message.content] }
    return
  }
  if (message.role === 'assistant' && needsUserMessage(prompt)) prompt.push(CONTINUE)
  prompt.push(message)
}

/** Whether a user message must come next: the prompt is empty, or ends with a system or assistant message. */
function needsUserMessage(prompt: LanguageModelV4Prompt): boolean {
  const role = prompt.at(-1)?.role
  return role !== 'user' && role !== 'tool'
}

const textOf = (parts: readonly Part[]): string =>
  parts.map(part => (part.type === 'text' && 'text' in part ? part.text : '')).join('')

/** Providers reject text of white space alone. */
const isNotBlank = (text: string): boolean => text.trim() !== ''

function userContentOf(part: Part): UserContent {
  if (part.type === 'text' && 'text' in part) return isNotBlank(part.text) ? [{ type: 'text', text: part.text }] : []
  if (part.type === 'file' && 'url' in part) return [fileOf(part)]
  return []
}

/** The messages of a reply, step by step: content and calls, then the results of the calls. */
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
    if (content.some(countsAsContent)) messages.push({ role: 'assistant', content })
    if (results.length > 0) messages.push({ role: 'tool', content: results })
    return messages
  })
}

/** Whether a part counts as content for every provider. Some drop reasoning, which would leave an empty message. */
const countsAsContent = (part: AssistantContent[number]): boolean =>
  part.type === 'tool-call' || (part.type === 'text' && isNotBlank(part.text))

function assistantContentOf(part: Part): AssistantContent {
  if (isCall(part)) return callOf(part)
  switch (part.type) {
    case 'text':
    case 'reasoning':
      // A blank part may carry the signature that the next call needs.
      if (!('text' in part) || (!isNotBlank(part.text) && !('providerMetadata' in part))) return []
      return [{ type: part.type, text: part.text, ...optionsOf(part) }]
    case 'file':
      // Not every provider accepts files in assistant messages, so a text names the file too.
      return 'url' in part ? [fileOf(part), { type: 'text', text: nameOf(part) }] : []
    case PROVIDER_CONTENT:
      return 'data' in part ? customOf(part.data) : []
    default:
      return []
  }
}

function customOf(data: Json): AssistantContent {
  const { kind, ...rest } = Object(data) as { kind?: unknown }
  return typeof kind === 'string' ? [{ type: 'custom', kind: kind as `${string}.${string}`, ...optionsOf(rest) }] : []
}

const isCall = (part: Part): part is ToolPart => part.type === 'tool' || part.type === 'dynamic-tool'

function callOf(part: ToolPart): AssistantContent {
  if (!isComplete(part)) return []
  const { toolCallId, executor } = part
  const call = { type: 'tool-call', toolCallId, ...toolNameOf(part), input: inputOf(part), ...optionsOf(part) } as const
  return executor === 'provider' ? [{ ...call, providerExecuted: true }, ...resultOf(part)] : [call]
}

/** Whether the input of a call is complete. It is not if the call was interrupted while its input streamed. */
const isComplete = ({ state, input, code }: ToolPart): boolean =>
  state !== 'input-streaming' && !(state === 'output-error' && code === 'interrupted' && input === undefined)

/** Replaces characters that providers reject in tool names, because a model may invent a name. */
const toolNameOf = ({ toolName }: ToolPart): { toolName: string } => ({
  toolName: toolName.replace(/[^\w-]/g, '_').slice(0, 64) || 'unknown',
})

/** Wraps an input that is not an object, which providers reject. Only a rejected call can have one. */
function inputOf({ input = {}, state, code }: ToolPart): Json {
  const isRejected = state === 'output-error' && (code === undefined || code === 'interrupted')
  return isObject(input) || !isRejected ? input : { input }
}

function resultOf(part: ToolPart): LanguageModelV4ToolResultPart[] {
  if (!isComplete(part)) return []
  const result = { type: 'tool-result', toolCallId: part.toolCallId, ...toolNameOf(part) } as const
  // Only the results of provider tools have metadata for the provider.
  return [{ ...result, output: outcomeOf(part), ...(part.executor === 'provider' && optionsOf(part)) }]
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

interface FilePart {
  readonly url: string
  readonly mediaType: string
  readonly filename?: string
}

const nameOf = ({ mediaType, filename }: FilePart): string => `[file ${filename ? `${filename}, ` : ''}${mediaType}]`

/** A file part with data or URL; a text that names the file if it has neither. */
function fileOf(part: FilePart): LanguageModelV4FilePart | LanguageModelV4TextPart {
  const { url, mediaType, filename } = part
  const data = dataOf(url)
  if (data === undefined) return { type: 'text', text: `${nameOf(part)} cannot be read` }
  return { type: 'file', mediaType, data, ...(filename !== undefined && { filename }) }
}

function dataOf(url: string): LanguageModelV4FilePart['data'] | undefined {
  const inline = /^data:[^,]*?(;base64)?,/i.exec(url)
  const rest = inline ? url.slice(inline[0].length) : ''
  if (inline?.[1]) return { type: 'data', data: rest }
  if (inline) return { type: 'data', data: Buffer.from(decodePercent(rest)).toString('base64') }
  return URL.canParse(url) ? { type: 'url', url: new URL(url) } : undefined
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns the provider metadata of a part to the provider as options. */
function optionsOf(part: object): { providerOptions?: SharedV4ProviderOptions } {
  const { providerMetadata } = part as { providerMetadata?: SharedV4ProviderOptions }
  return providerMetadata ? { providerOptions: providerMetadata } : {}
}
