import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { partsModel } from './model-run.fixture.ts'

/** A model that sends some parts, then others without end. */
export function endlessModel(
  first: readonly LanguageModelV4StreamPart[],
  next: (n: number) => LanguageModelV4StreamPart,
) {
  const ends: unknown[] = []
  const signals: AbortSignal[] = []
  let sent = 0
  const model: LanguageModelV4 = {
    ...partsModel(),
    async doStream({ abortSignal }) {
      signals.push(abortSignal as AbortSignal)
      const rest = [...first]
      const stream = new ReadableStream<LanguageModelV4StreamPart>(
        {
          pull: controller => controller.enqueue(rest.shift() ?? next(sent++)),
          cancel: reason => void ends.push(reason),
        },
        { highWaterMark: 0 },
      )
      return { stream }
    },
  }
  return { model, ends, signals, sent: () => sent }
}
