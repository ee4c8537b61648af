// An answer that streamed, as one that came whole: the other way round than a generation.

import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4Reasoning,
  LanguageModelV4StreamPart,
  LanguageModelV4Text,
} from '@ai-sdk/provider'

type End = Pick<LanguageModelV4GenerateResult, 'usage' | 'finishReason' | 'providerMetadata'>

/** Hears a stream to its end, and gives all that it said at once; throws what it fails with, and where it has no end. */
export async function wholeOf(
  stream: ReadableStream<LanguageModelV4StreamPart>,
): Promise<LanguageModelV4GenerateResult> {
  const content: LanguageModelV4Content[] = []
  const warnings: LanguageModelV4GenerateResult['warnings'] = []
  const open = new Map<string, LanguageModelV4Text | LanguageModelV4Reasoning>()
  let response: LanguageModelV4GenerateResult['response']
  let end: End | undefined
  /** The text that a part belongs to; one that was not begun begins with it. */
  const textOf = (type: 'text' | 'reasoning', id: string, isNew: boolean) => {
    const known = isNew ? undefined : open.get(`${type}:${id}`)
    if (known) return known
    const text: LanguageModelV4Text | LanguageModelV4Reasoning = { type, text: '' }
    open.set(`${type}:${id}`, text)
    content.push(text)
    return text
  }
  const reader = stream.getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const part = next.value
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end': {
        const [type, verb] = part.type.split('-') as ['text' | 'reasoning', string]
        const text = textOf(type, part.id, verb === 'start')
        if ('delta' in part) text.text += part.delta
        if ('citations' in part && part.citations) Object.assign(text, { citations: part.citations })
        if (part.providerMetadata) text.providerMetadata = part.providerMetadata
        break
      }
      case 'stream-start':
        warnings.push(...part.warnings)
        break
      case 'response-metadata': {
        const { type, ...about } = part
        response = about
        break
      }
      case 'finish': {
        const { type, ...about } = part
        end = about
        break
      }
      case 'error':
        throw part.error
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-input-end':
      case 'ping':
      case 'raw':
        // The call says its input, and the rest is for who listens.
        break
      default:
        content.push(part)
    }
  }
  if (!end) throw new Error('the stream came to no end')
  return { content, warnings, ...end, ...(response && { response }) }
}
