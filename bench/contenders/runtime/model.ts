// Models that stream prepared parts at almost no cost.
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'

/** Returns a promise that the model awaits before a part, if any. */
export type PauseBefore = (part: number) => Promise<void> | undefined

/** A model that answers with prepared parts. The step is the number of answers in the prompt since the last user message. */
export function modelOf(
  answer: (step: number) => readonly LanguageModelV4StreamPart[],
  pauseBefore?: PauseBefore,
): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'bench',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('doGenerate is not supported: use doStream')),
    doStream: async options => ({ stream: streamOf(answer(stepOf(options)), pauseBefore) }),
  }
}

function stepOf({ prompt }: LanguageModelV4CallOptions): number {
  const from = prompt.findLastIndex(({ role }) => role === 'user')
  return prompt.slice(from).filter(({ role }) => role === 'assistant').length
}

function streamOf(
  parts: readonly LanguageModelV4StreamPart[],
  pauseBefore: PauseBefore | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      const number = at++
      const go = () => {
        const part = parts[number]
        if (part) controller.enqueue(part)
        else controller.close()
      }
      const halted = pauseBefore?.(number)
      return halted ? halted.then(go) : go()
    },
  })
}

/** Parts of a text answer. */
export const textParts = (deltas: readonly string[]): LanguageModelV4StreamPart[] => [
  { type: 'stream-start', warnings: [] },
  { type: 'text-start', id: '0' },
  ...deltas.map(delta => ({ type: 'text-delta', id: '0', delta }) as const),
  { type: 'text-end', id: '0' },
  finish('stop'),
]

/** A tool call of a model. */
export interface Call {
  readonly toolCallId: string
  readonly toolName: string
  /** JSON. */
  readonly input: string
}

/** Parts of an answer that calls tools. */
export const toolCallParts = (...calls: readonly Call[]): LanguageModelV4StreamPart[] => [
  { type: 'stream-start', warnings: [] },
  ...calls.flatMap(({ toolCallId, toolName, input }): LanguageModelV4StreamPart[] => [
    { type: 'tool-input-start', id: toolCallId, toolName },
    { type: 'tool-input-delta', id: toolCallId, delta: input },
    { type: 'tool-input-end', id: toolCallId },
    { type: 'tool-call', toolCallId, toolName, input },
  ]),
  finish('tool-calls'),
]

function finish(unified: 'stop' | 'tool-calls'): LanguageModelV4StreamPart {
  return {
    type: 'finish',
    finishReason: { unified, raw: undefined },
    usage: {
      inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 1, text: undefined, reasoning: undefined },
    },
  }
}
