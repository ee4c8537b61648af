// TanStack AI's StreamProcessor with one subscriber. Its ChatClient waits for a timer with every event, so it is measured in a browser.
import { StreamProcessor } from '@tanstack/ai'
import { batches } from '../../fixtures/text.ts'
import type { Job } from '../../harness/suite.ts'
import { tanstackEvents, tanstackHistory } from '../tanstack.ts'
import { Clock } from './clock.ts'
import { type StoreLoad, Subscriber, storeJob } from './store-job.ts'

/** Streams one answer into a conversation with earlier messages. */
export function tanstackStore(load: StoreLoad): Job {
  const { count, workIndex, history, arrivals } = load
  const frames = batches(tanstackEvents(count, workIndex), arrivals.size)
  const clock = new Clock()
  const subscriber = new Subscriber()
  const processor = new StreamProcessor({
    initialMessages: tanstackHistory(history),
    events: {
      onMessagesChange: messages => {
        const part = messages.at(-1)?.parts[0]
        subscriber.onText(part?.type === 'text' ? part.content : undefined)
      },
    },
  })
  return storeJob(load, { messages: history + 1, last: count }, subscriber, clock, () => {
    for (const events of frames) {
      for (const event of events) processor.processChunk(event)
      clock.advance(arrivals.intervalMs)
    }
    processor.finalizeStream()
    const messages = processor.getMessages()
    const part = messages.at(-1)?.parts[0]
    return { text: part?.type === 'text' ? part.content : undefined, messages: messages.length }
  })
}
