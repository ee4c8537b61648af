// The scripted model for servers that use an AI SDK provider.
import type { LanguageModelV4, LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { ScriptedAnswers } from './scripted-answers.ts'

const usage = {
  inputTokens: { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: undefined, reasoning: undefined },
}

/** A model that reads the number of the answer from the last user message. */
export function scriptedModel(script: () => ScriptedAnswers): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'bench',
    modelId: 'bench',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('doGenerate is not supported: use doStream')),
    doStream: async ({ prompt }) => ({ stream: streamOf(script(), answerNumberIn(prompt)) }),
  }
}

/** Reads the number from the last text, even if earlier texts are in the same message. */
function answerNumberIn(prompt: LanguageModelV4Prompt): number {
  const last = prompt.findLast(({ role }) => role === 'user')
  const part = last?.role === 'user' ? last.content.at(-1) : undefined
  return Number(part?.type === 'text' ? part.text : Number.NaN)
}

function streamOf(script: ScriptedAnswers, answer: number): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    start(controller) {
      const produce = async () => {
        controller.enqueue({ type: 'stream-start', warnings: [] })
        controller.enqueue({ type: 'text-start', id: '0' })
        await script.produce(answer, delta => controller.enqueue({ type: 'text-delta', id: '0', delta }))
        controller.enqueue({ type: 'text-end', id: '0' })
        controller.enqueue({ type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage })
        controller.close()
      }
      produce().catch(error => controller.error(error))
    },
  })
}
