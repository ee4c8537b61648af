import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { AnswerServer } from './streaming.ts'

/** The model that answers all current requests. */
export class CurrentModel {
  #model: LanguageModelV4 | undefined

  get model(): LanguageModelV4 {
    if (this.#model === undefined) throw new Error('no current model: call withModel first')
    return this.#model
  }

  /** A server that responds with answers of the current model. */
  serverAt(port: number): AnswerServer {
    return {
      port,
      requestFor: name => ({ path: `/${name}` }),
      withModel: (_names, model, work) => {
        this.#model = model
        return work()
      },
    }
  }

  /** Words of the model as SSE events. */
  async *events(): AsyncGenerator<string> {
    const { stream } = await this.model.doStream({ prompt: [] })
    for await (const part of stream) {
      if (part.type === 'text-delta') yield JSON.stringify({ type: part.type, id: part.id, delta: part.delta })
    }
  }
}
