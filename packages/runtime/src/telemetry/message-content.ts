// What was said, as the conventions write it down (`gen_ai.input.messages` and its like): only where it is asked for.

import type { LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { LONGEST_CONTENT, LONGEST_TEXT, type Shortened, shortened } from './truncate-json.ts'

interface Part {
  readonly type: string
  readonly [name: string]: unknown
}

interface Message {
  readonly role: string
  readonly parts: readonly Part[]
}

/** What a model is sent: its instructions, and the conversation, of which the oldest is left out where there is not enough room. */
export function inputOf(prompt: LanguageModelV4Prompt): { instructions: Shortened | undefined; messages: Shortened } {
  const instructions: Part[] = []
  const messages: Message[] = []
  for (const { role, content } of prompt) {
    if (role !== 'system') messages.push({ role, parts: content.map(partOf) })
    else if (messages.length === 0) instructions.push({ type: 'text', content })
    else messages.push({ role, parts: [{ type: 'text', content }] })
  }
  return { instructions: instructions.length > 0 ? shortened(instructions) : undefined, messages: latest(messages) }
}

function latest(messages: readonly Message[]): Shortened {
  const kept: string[] = []
  let left = LONGEST_CONTENT
  let isShortened = false
  for (const { role, parts } of messages.toReversed()) {
    if (left <= 0) {
      isShortened = true
      break
    }
    const own = shortened(parts, left)
    left -= own.json.length
    isShortened ||= own.isShortened
    kept.unshift(`{"role":${JSON.stringify(role)},"parts":${own.json}}`)
  }
  return { json: `[${kept.join(',')}]`, isShortened }
}

type PromptPart = Exclude<LanguageModelV4Prompt[number], { role: 'system' }>['content'][number]

function partOf(part: PromptPart): Part {
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

const callOf = ({ toolCallId, toolName }: { toolCallId: string; toolName: string }, input: unknown): Part => ({
  type: 'tool_call',
  id: toolCallId,
  name: toolName,
  arguments: input,
})

const responseOf = ({ toolCallId }: { toolCallId: string }, response: unknown): Part => ({
  type: 'tool_call_response',
  id: toolCallId,
  response,
})

/** A file by its address, if it has one; its bytes are left out. */
function fileOf({ mediaType, data }: Extract<PromptPart, { type: 'file' }>): Part {
  const about = { modality: mediaType.split('/', 1)[0], mime_type: mediaType }
  return data.type === 'url' ? { type: 'uri', ...about, uri: data.url.href } : { type: 'blob', ...about, content: '' }
}

/** What a model answers, gathered while it is heard. */
export class Gathered {
  readonly #parts: (Part & { content?: string })[] = []
  /** The part of text or reasoning that goes on, by what the provider calls it. */
  #open = ''

  take(part: LanguageModelV4StreamPart): void {
    if (part.type === 'text-delta') this.#add('text', part)
    else if (part.type === 'reasoning-delta') this.#add('reasoning', part)
    else if (part.type === 'tool-call') this.#push(callOf(part, parsed(part.input)))
    else if (part.type === 'tool-result') this.#push(responseOf(part, part.result))
  }

  message(finishReason: string): Shortened {
    return shortened([{ role: 'assistant', parts: this.#parts, finish_reason: finishReason }])
  }

  #add(type: 'text' | 'reasoning', { id, delta }: { readonly id: string; readonly delta: string }): void {
    const open = `${type}:${id}`
    if (this.#open !== open) this.#push({ type, content: '' })
    this.#open = open
    const part = this.#parts.at(-1)
    // A little more than is shown, so that it shows as shortened.
    if (part?.content !== undefined && part.content.length <= LONGEST_TEXT) part.content += delta
  }

  #push(part: Part): void {
    this.#open = ''
    this.#parts.push(part)
  }
}

/** The input of a call, as far as it can be read. */
function parsed(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}
