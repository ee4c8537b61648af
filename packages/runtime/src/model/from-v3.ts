// Adapts models of version v3 of the AI SDK's interface. It differs in file data and lacks some options, which become warnings.

import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3FilePart,
  LanguageModelV3Message,
  LanguageModelV3StreamPart,
  LanguageModelV3ToolResultOutput,
  LanguageModelV3ToolResultPart,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4FileData,
  SharedV4Warning,
} from '@ai-sdk/provider'

type V4UserPart = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number]
type V3UserPart = Extract<LanguageModelV3Message, { role: 'user' }>['content'][number]
type V4AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]
type V3AssistantPart = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number]
type V3ToolPart = Extract<LanguageModelV3Message, { role: 'tool' }>['content'][number]
type V3Content = Extract<LanguageModelV3ToolResultOutput, { type: 'content' }>['value'][number]
type V4Content = Extract<LanguageModelV4ToolResultOutput, { type: 'content' }>['value'][number]

/** Adds a warning about a feature that v3 does not support. */
type Warn = (feature: string) => void

/** Adapts a v3 model to v4. The result only streams. */
export function fromV3(model: LanguageModelV3): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    async doGenerate() {
      throw new Error('doGenerate is not supported by an adapted v3 model: use doStream')
    },
    async doStream(options) {
      const warnings: SharedV4Warning[] = []
      const warn: Warn = feature => warnings.push({ type: 'unsupported', feature })
      const { stream, request, response } = await model.doStream(optionsOf(options, warn))
      return {
        stream: stream.pipeThrough(
          new TransformStream<LanguageModelV3StreamPart, LanguageModelV4StreamPart>({
            start(controller) {
              if (warnings.length > 0) controller.enqueue({ type: 'stream-start', warnings })
            },
            transform: (part, controller) => controller.enqueue(partOf(part)),
          }),
        ),
        ...(request && { request }),
        ...(response && { response }),
      }
    },
  }
}

function optionsOf({ prompt, reasoning, ...rest }: LanguageModelV4CallOptions, warn: Warn): LanguageModelV3CallOptions {
  if (reasoning !== undefined && reasoning !== 'provider-default') warn('reasoning')
  return { ...rest, prompt: prompt.map(message => messageOf(message, warn)) }
}

function messageOf(message: LanguageModelV4Message, warn: Warn): LanguageModelV3Message {
  switch (message.role) {
    case 'system':
      return message
    case 'user':
      return { ...message, content: message.content.flatMap(part => userPartOf(part, warn)) }
    case 'assistant':
      return { ...message, content: message.content.flatMap(part => assistantPartOf(part, warn)) }
    default:
      return {
        ...message,
        content: message.content.map((part): V3ToolPart => (part.type === 'tool-result' ? resultOf(part, warn) : part)),
      }
  }
}

const userPartOf = (part: V4UserPart, warn: Warn): V3UserPart[] => (part.type === 'file' ? fileOf(part, warn) : [part])

function assistantPartOf(part: V4AssistantPart, warn: Warn): V3AssistantPart[] {
  switch (part.type) {
    case 'file':
      return fileOf(part, warn)
    case 'tool-result':
      return [resultOf(part, warn)]
    case 'custom':
    case 'reasoning-file':
      warn(`${part.type} parts`)
      return []
    default:
      return [part]
  }
}

function fileOf({ data, ...part }: LanguageModelV4FilePart, warn: Warn): LanguageModelV3FilePart[] {
  if (data.type === 'reference') {
    warn('files by reference')
    return []
  }
  return [{ ...part, data: dataOf(data) }]
}

function dataOf(data: Exclude<SharedV4FileData, { type: 'reference' }>): LanguageModelV3FilePart['data'] {
  if (data.type === 'url') return data.url
  return data.type === 'text' ? new TextEncoder().encode(data.text) : data.data
}

function resultOf({ output, ...part }: LanguageModelV4ToolResultPart, warn: Warn): LanguageModelV3ToolResultPart {
  if (output.type !== 'content') return { ...part, output }
  return { ...part, output: { ...output, value: output.value.flatMap(item => contentOf(item, warn)) } }
}

function contentOf(item: V4Content, warn: Warn): V3Content[] {
  if (item.type !== 'file') return [item]
  const { data, type, ...rest } = item
  switch (data.type) {
    case 'text':
      return [{ type: 'text', text: data.text }]
    case 'url':
      return [{ type: 'file-url', url: data.url.href }]
    case 'data':
      return [{ ...rest, type: 'file-data', data: base64Of(data.data) }]
    default:
      warn('files by reference')
      return []
  }
}

const base64Of = (data: string | Uint8Array): string =>
  typeof data === 'string' ? data : Buffer.from(data).toString('base64')

function partOf(part: LanguageModelV3StreamPart): LanguageModelV4StreamPart {
  return part.type === 'file' ? { ...part, data: { type: 'data', data: part.data } } : part
}
