import { agent, scriptedModel } from '@millrace/runtime'

/** An agent that writes one word, and the second when the test releases it. */
export function heldAgent() {
  const gate = Promise.withResolvers<void>()
  const inner = scriptedModel(() => ({ text: 'one two' }))
  const doStream: typeof inner.doStream = async options => {
    const { stream, ...rest } = await inner.doStream(options)
    const aborted = new Promise<never>((_, reject) => {
      options.abortSignal?.addEventListener('abort', () => reject(options.abortSignal?.reason))
    })
    aborted.catch(() => {})
    let words = 0
    const held = new TransformStream<typeof stream extends ReadableStream<infer P> ? P : never>({
      async transform(part, controller) {
        if (part.type === 'text-delta' && words++ > 0) await Promise.race([gate.promise, aborted])
        controller.enqueue(part)
      },
    })
    return { ...rest, stream: stream.pipeThrough(held) }
  }
  return { agent: agent({ name: 'slow', model: { ...inner, doStream } }), release: gate.resolve }
}
