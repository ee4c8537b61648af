import { type Script, scriptedModel } from 'millrace'

/** A scripted model that pauses every answer after some deltas until `resume` is called. */
export function pausedModel(script: Script, afterDeltas: number) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const model = scriptedModel(script)
  const doStream: typeof model.doStream = async call => {
    const { stream } = await model.doStream(call)
    type Part = typeof stream extends ReadableStream<infer Value> ? Value : never
    let deltas = 0
    const pausing = new TransformStream<Part, Part>({
      async transform(part, controller) {
        if (part.type.endsWith('-delta') && deltas++ === afterDeltas) await promise
        controller.enqueue(part)
      },
    })
    return { stream: stream.pipeThrough(pausing) }
  }
  return { model: { ...model, doStream }, resume: () => resolve() }
}
