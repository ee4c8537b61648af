import { agent, ProviderError } from 'millrace'
import { type DemoModel, modelOf } from '../model.ts'
import { pause } from '../pace.ts'

const WORDS_UNTIL_IT_FAILS = 5

/** Wraps a model so that the first attempt at each answer fails halfway. */
function failing(model: DemoModel): DemoModel {
  const doStream: DemoModel['doStream'] = async call => {
    const result = await model.doStream(call)
    // The runtime passes the attempt number to each model call.
    if (call.providerOptions?.['millrace']?.['attempt'] !== 1) return result
    const error = new ProviderError('provider_overloaded', 'the provider is overloaded', { retryable: true })
    let words = 0
    const breaking: TransformStream = new TransformStream({
      async transform(part, controller) {
        if (part.type === 'text-delta') words += 1
        if (words <= WORDS_UNTIL_IT_FAILS && part.type !== 'finish') return controller.enqueue(part)
        // End the text part, which flushes buffered deltas: the partial answer is visible before it is discarded.
        if (part.type === 'text-delta') controller.enqueue({ type: 'text-end', id: part.id })
        await pause(500, call.abortSignal)
        controller.enqueue({ type: 'error', error })
        controller.terminate()
      },
    })
    return { ...result, stream: result.stream.pipeThrough(breaking) }
  }
  const { specificationVersion, provider, modelId, supportedUrls } = model
  return {
    specificationVersion,
    provider,
    modelId,
    supportedUrls,
    doGenerate: call => model.doGenerate(call),
    doStream,
  }
}

/** Fails halfway through its answer and completes it on the second attempt. */
export const flaky = agent({
  name: 'flaky',
  model: failing(modelOf(({ lastText }) => ({ text: `You said: ${lastText} It took me two attempts to answer.` }))),
  instructions: 'Answer in two or three sentences.',
})
