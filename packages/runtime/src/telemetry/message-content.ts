// Messages in the format of the semantic conventions, such as `gen_ai.input.messages`. Used only with `content: true`.

import type { LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { MAX_CONTENT_LENGTH, MAX_TEXT_LENGTH, type TruncatedJson, truncateJson } from './truncate-json.ts'

interface ContentPart {
  readonly type: string
  readonly [name: string]: unknown
}

interface ContentMessage {
  readonly role: string
  readonly parts: readonly ContentPart[]
}

/** The instructions and messages of a prompt. The oldest messages are dropped if they exceed the limit. */
export function inputOf(prompt: LanguageModelV4Prompt): {
  instructions: TruncatedJson | undefined
  messages: TruncatedJson
} {
  const instructions: ContentPart[] = []
  const messages: ContentMessage[] = []
  for (const { role, content } of prompt) {
    if (role !== 'system') messages.push({ role, parts: content.map(partOf) })
    else if (messages.length === 0) instructions.push({ type: 'text', content })
    else messages.push({ role, parts: [{ type: 'text', content }] })
  }
  return {
    instructions: instructions.length > 0 ? truncateJson(instructions) : undefined,
    messages: latestMessages(messages),
  }
}

function latestMessages(messages: readonly ContentMessage[]): TruncatedJson {
  const included: string[] = []
  let charactersLeft = MAX_CONTENT_LENGTH
  let isTruncated = false
  for (const { role, parts } of messages.toReversed()) {
    if (charactersLeft <= 0) {
      isTruncated = true
      break
    }
    const truncatedParts = truncateJson(parts, charactersLeft)
    charactersLeft -= truncatedParts.json.length
    isTruncated ||= truncatedParts.isTruncated
    included.unshift(`{"role":${JSON.stringify(role)},"parts":${truncatedParts.json}}`)
  }
  return { json: `[${included.join(',')}]`, isTruncated }
}

type PromptPart = Exclude<LanguageModelV4Prompt[number], { role: 'system' }>['content'][number]

function partOf(part: PromptPart): ContentPart {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, content: part.text }
    case 'tool-call':
      return callOf(part, part.input)
    case 'tool-result':
      return responseOf(part, 'value' in part.output ? part.output.value : part.output)
    case 'file':
      return fileOf(part)
    default:
      return { type: part.type }
  }
}

const callOf = ({ toolCallId, toolName }: { toolCallId: string; toolName: string }, input: unknown): ContentPart => ({
  type: 'tool_call',
  id: toolCallId,
  name: toolName,
  arguments: input,
})

const responseOf = ({ toolCallId }: { toolCallId: string }, response: unknown): ContentPart => ({
  type: 'tool_call_response',
  id: toolCallId,
  response,
})

/** A file with its URL, if it has one; without its bytes. */
function fileOf({ mediaType, data }: Extract<PromptPart, { type: 'file' }>): ContentPart {
  const fields = { modality: mediaType.split('/', 1)[0], mime_type: mediaType }
  return data.type === 'url' ? { type: 'uri', ...fields, uri: data.url.href } : { type: 'blob', ...fields, content: '' }
}

/** Collects the answer of a model from its stream parts. */
export class OutputCollector {
  readonly #parts: (ContentPart & { content?: string })[] = []
  /** Kind and provider id of the open text or reasoning part. */
  #open = ''

  add(part: LanguageModelV4StreamPart): void {
    if (part.type === 'text-delta') this.#add('text', part)
    else if (part.type === 'reasoning-delta') this.#add('reasoning', part)
    else if (part.type === 'tool-call') this.#push(callOf(part, parseInput(part.input)))
    else if (part.type === 'tool-result') this.#push(responseOf(part, part.result))
  }

  message(finishReason: string): TruncatedJson {
    return truncateJson([{ role: 'assistant', parts: this.#parts, finish_reason: finishReason }])
  }

  #add(type: 'text' | 'reasoning', { id, delta }: { readonly id: string; readonly delta: string }): void {
    const open = `${type}:${id}`
    if (this.#open !== open) this.#push({ type, content: '' })
    this.#open = open
    const part = this.#parts.at(-1)
    // Keeps more than the limit, so that the text is marked as truncated.
    if (part?.content !== undefined && part.content.length <= MAX_TEXT_LENGTH) part.content += delta
  }

  #push(part: ContentPart): void {
    this.#open = ''
    this.#parts.push(part)
  }
}

/** The input of a call as JSON; as text if it is not JSON. */
function parseInput(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}
