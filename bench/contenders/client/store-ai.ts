// The AI SDK's Chat with a transport in the same process, and one subscriber like its hook, which by default does not throttle.
import { Chat } from '@ai-sdk/react'
import type { Job } from '../../harness/suite.ts'
import { aiChunks, aiHistory } from '../ai.ts'
import { Clock } from './clock.ts'
import { arrivalStream, type StoreLoad, Subscriber, storeJob } from './store-job.ts'

/** Streams one answer into a conversation with earlier messages. */
export function aiStore(load: StoreLoad): Job {
  const { count, workIndex, history, arrivals } = load
  const chunks = aiChunks(count, workIndex)
  const clock = new Clock()
  const subscriber = new Subscriber()
  const chat = new Chat({
    messages: aiHistory(history),
    transport: {
      sendMessages: async () => arrivalStream(chunks, arrivals, clock),
      reconnectToStream: async () => null,
    },
  })
  const textOf = () => {
    const part = chat.messages.at(-1)?.parts[0]
    return part?.type === 'text' ? part.text : undefined
  }
  chat['~registerMessagesCallback'](() => {
    subscriber.onText(textOf())
  })
  return storeJob(load, { messages: history + 2, last: count }, subscriber, clock, async () => {
    await chat.sendMessage({ text: 'go' })
    return { text: textOf(), messages: chat.messages.length }
  })
}
