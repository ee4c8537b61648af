import { agent, ProviderError } from 'millrace'
import { pacedModel } from '../pace.ts'

/** Breaks off in the middle of its answer, and says all of it when it is asked again. */
export const flaky = agent({
  name: 'flaky',
  model: pacedModel(({ lastText, options }) => {
    const words = `You said: ${lastText} It took me two attempts to answer.`.split(' ')
    // The runtime tells each model call which attempt it is.
    if (options.providerOptions?.['millrace']?.['attempt'] !== 1) return { text: words.join(' ') }
    const error = new ProviderError('provider_overloaded', 'the provider is overloaded', { retryable: true })
    return { text: words.slice(0, words.length / 2).join(' '), error }
  }),
})
