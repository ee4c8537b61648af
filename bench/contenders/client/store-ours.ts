// Our store with the load of a chat: frames of entries, subscribers of the order, the runs and the pendings, and one subscriber of the answer.
import { Store } from '@millrace/client'
import { type Entry, messageIdOf, type Origin } from '@millrace/protocol'
import { answerEntries, batches, historyEntries } from '../../fixtures/text.ts'
import type { Job } from '../../harness/suite.ts'
import { Clock, SCREEN_MS } from './clock.ts'
import { type StoreLoad, Subscriber, storeJob } from './store-job.ts'

/** Maximum number of deltas in an answer. More deltas are split into several answers. */
const MAX_DELTAS = 10_000

/** Splits the deltas into answers, each with its own run, in frames. */
function answersOf({ count, workIndex, history, arrivals }: StoreLoad): { id: string; frames: Entry[][] }[] {
  const answers: { id: string; frames: Entry[][] }[] = []
  let after = history
  for (let left = count; left > 0; left -= MAX_DELTAS) {
    const runId = `run-${answers.length + 1}`
    const origin: Origin = { runId, lane: 'main', agentId: runId, agentType: 'writer', step: 1 }
    const entries = answerEntries(Math.min(left, MAX_DELTAS), workIndex, after).map(entry => ({ ...entry, origin }))
    after += entries.length
    answers.push({ id: messageIdOf(runId, runId), frames: batches(entries, arrivals.size) })
  }
  return answers
}

/** Streams answers into a conversation with earlier messages. */
export function oursStore(load: StoreLoad): Job {
  const { count, history, arrivals } = load
  const answers = answersOf(load)
  const clock = new Clock()
  const store = new Store()
  const subscriber = new Subscriber()
  store.apply(historyEntries(history))
  store.flush()
  const textOf = (id: string) => {
    const part = store.message(id)?.parts[0]
    return part?.type === 'text' ? part.text : undefined
  }
  store.subscribe(['order'], () => store.messageIds)
  store.subscribe(['ledger'], () => store.ledger)
  store.subscribe(['pendings'], () => store.pendings)
  for (const { id } of answers) store.subscribe(['message', id], () => subscriber.onText(textOf(id)))
  // Subscribes to everything before the first delta.
  if (store.messageIds.length + store.ledger.runs.length + store.pendings.length < history)
    throw new Error(`expected ${history} earlier messages, runs and pendings in the store, found fewer`)
  const expected = { messages: history + answers.length, last: ((count - 1) % MAX_DELTAS) + 1 }
  return storeJob(load, expected, subscriber, clock, () => {
    for (const { frames } of answers) {
      for (const entries of frames) {
        store.apply(entries)
        clock.advance(arrivals.intervalMs)
      }
    }
    clock.advance(SCREEN_MS)
    return { text: textOf(answers.at(-1)?.id ?? ''), messages: store.messageIds.length }
  })
}
