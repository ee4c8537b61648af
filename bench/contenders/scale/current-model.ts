import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { AnswerServer } from './streaming.ts'

/** The model that answers to whoever asks at the moment. */
export class CurrentModel {
  #model: LanguageModelV4 | undefined

  get model(): LanguageModelV4 {
    if (this.#model === undefined) throw new Error('nobody said who answers')
    return this.#model
  }

  /** A server whose replies are answers of that model. */
  givingAt(port: number): AnswerServer {
    return {
      port,
      asking: name => ({ path: `/${name}` }),
      withModel: (_names, model, work) => {
        this.#model = model
        return work()
      },
    }
  }

  /** The words of the model, as events. */
  async *events(): AsyncGenerator<string> {
    const { stream } = await this.model.doStream({ prompt: [] })
    for await (const part of stream) {
      if (part.type === 'text-delta') yield JSON.stringify({ type: part.type, id: part.id, delta: part.delta })
    }
  }
}
