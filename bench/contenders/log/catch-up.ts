// Late readers of an answer, all at once, until each has the complete text.
import { randomUUID } from 'node:crypto'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { storedAnswer } from './answer-ours.ts'
import { checkTexts, openReader, textOf, type Way } from './answers.ts'
import type { ProduceReply, ProduceRequest } from './producer.child.ts'
import { startChild } from './start-child.ts'

/** Catching up on our log, stored with `size` tokens per append. */
export async function catchUpOurs(
  size: number,
  state: 'live' | 'finished',
  readers: number,
  count: number,
  workIndex: number,
): Promise<Job> {
  return catchUp('ours', await storedAnswer(count, workIndex, size, state), readers, count, workIndex)
}

/** Catching up on a resumable-stream with a running producer in a child process. */
export async function catchUpResumable(
  way: 'tokens' | 'events',
  readers: number,
  count: number,
  workIndex: number,
): Promise<Job> {
  return catchUp(way, await producedByChild(way, count, workIndex), readers, count, workIndex)
}

const producedByChild = openOnce(async (way: Way, count: number, workIndex: number): Promise<string> => {
  const streamId = randomUUID()
  await startChild<ProduceRequest, ProduceReply>('producer.child.ts').request({ way, streamId, count, workIndex })
  return streamId
})

async function catchUp(way: Way, streamId: string, readers: number, count: number, workIndex: number): Promise<Job> {
  const { length } = await textOf(way, count, workIndex)
  return job(
    () =>
      Promise.all(
        Array.from({ length: readers }, async () => {
          const { text } = await openReader(way, streamId, length)
          return text
        }),
      ),
    texts => checkTexts(texts, way, readers, count, workIndex),
  )
}
