// MUI X Chat's store, driven like its provider does, with one subscriber.
import { ChatStore } from '@mui/x-chat-headless/store'
import { processStream } from '@mui/x-chat-headless/stream'
import type { Job } from '../../harness/suite.ts'
import { muiChunks, muiHistory } from '../mui.ts'
import { Clock, SCREEN_MS } from './clock.ts'
import { arrivalStream, type StoreLoad, Subscriber, storeJob } from './store-job.ts'

/** Streams one answer into a conversation with earlier messages. */
export function muiStore(load: StoreLoad): Job {
  const { count, workIndex, history, arrivals } = load
  const chunks = muiChunks(count, workIndex)
  const clock = new Clock()
  const store = new ChatStore({ initialMessages: muiHistory(history) })
  const subscriber = new Subscriber()
  const message = () => store.state.messagesById['answer']
  const textOf = () => {
    const part = message()?.parts[0]
    return part?.type === 'text' ? part.text : undefined
  }
  let last = message()
  store.subscribe(() => {
    // Like its hook: a message is rendered when its object changes.
    if (message() === last) return
    last = message()
    subscriber.onText(textOf())
  })
  return storeJob(load, { messages: history + 1, last: count }, subscriber, clock, async () => {
    await processStream(store, arrivalStream(chunks, arrivals, clock), { flushInterval: SCREEN_MS })
    return { text: textOf(), messages: store.state.messageIds.length }
  })
}
