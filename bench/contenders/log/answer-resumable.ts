// resumable-stream as documented: the producer keeps the text in memory, and late readers request it over pub/sub.
import { createClient } from 'redis'
import { answer } from '../../fixtures/text.ts'
import { onCleanup, openOnce } from '../../harness/cleanup.ts'
import { serviceUrl } from '../../harness/services.ts'
import type { AnswerReader, Producer } from './answers.ts'

const MAX_TRIES = 10

/** One context per process, with two clients of the Redis that our store uses. */
export const openContext = openOnce(async () => {
  const { createResumableStreamContext } = await import('resumable-stream')
  const url = serviceUrl('redis')
  const [publisher, subscriber] = [await createClient({ url }).connect(), await createClient({ url }).connect()]
  // The last token can still be in flight to other readers.
  onCleanup(async () => {
    await publisher.close()
    await subscriber.close()
  })
  return createResumableStreamContext({ waitUntil: null, publisher, subscriber })
})

export const eventOf = (delta: string): string =>
  `data: ${JSON.stringify({ type: 'text-delta', id: 'text-1', delta })}\n\n`

export async function openProducer(
  transport: 'tokens' | 'events',
  streamId: string,
  count: number,
  workIndex: number,
): Promise<Producer> {
  const context = await openContext()
  const { deltas } = answer(count, workIndex)
  const strings = transport === 'tokens' ? deltas : deltas.map(eventOf)
  const start = Promise.withResolvers<void>()
  let at = 0
  const stream = await context.createNewResumableStream(
    streamId,
    () =>
      new ReadableStream({
        async pull(controller) {
          if (at === 0) await start.promise
          if (at < strings.length) controller.enqueue(strings[at++] as string)
        },
      }),
  )
  // The client that requested the answer also reads it.
  const reader = stream?.getReader()
  return {
    async produce() {
      start.resolve()
      let length = 0
      for (const _ of strings) length += (await reader?.read())?.value?.length ?? 0
      return length
    },
  }
}

export async function openReader(streamId: string, length: number): Promise<AnswerReader> {
  const context = await openContext()
  for (let tries = 1; ; tries++) {
    try {
      const stream = await context.resumeExistingStream(streamId)
      if (!stream) throw new Error(`expected an open stream, found ${stream === null ? 'one that has ended' : 'none'}`)
      return { text: textOf(stream.getReader(), length) }
    } catch (error) {
      // A busy producer can miss the one-second timeout. A client would retry.
      if (tries === MAX_TRIES || !String(error).includes('Timeout waiting for ack')) throw error
    }
  }
}

async function textOf(reader: ReadableStreamDefaultReader<string>, length: number): Promise<string> {
  let text = ''
  while (text.length < length) {
    const { done, value } = await reader.read()
    if (done) break
    text += value
  }
  await reader.cancel()
  return text
}
