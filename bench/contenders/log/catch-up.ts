// Catching up: late readers connect to an answer, all at once, and read until each has the complete text.
import { randomUUID } from 'node:crypto'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { storedAnswer } from './answer-ours.ts'
import { type AnswerTransport, checkTexts, openReader, textOf } from './answers.ts'
import type { ProduceReply, ProduceRequest } from './producer.child.ts'
import { startChild } from './start-child.ts'

/** Catching up on an answer in our log. */
export async function catchUpOurs(
  tokensPerAppend: number,
  state: 'live' | 'finished',
  readers: number,
  count: number,
  workIndex: number,
): Promise<Job> {
  return catchUp('ours', await storedAnswer(count, workIndex, tokensPerAppend, state), readers, count, workIndex)
}

/** Catching up on a resumable-stream with a running producer in a child process. */
export async function catchUpResumable(
  transport: 'tokens' | 'events',
  readers: number,
  count: number,
  workIndex: number,
): Promise<Job> {
  return catchUp(transport, await producedByChild(transport, count, workIndex), readers, count, workIndex)
}

const producedByChild = openOnce(
  async (transport: AnswerTransport, count: number, workIndex: number): Promise<string> => {
    const streamId = randomUUID()
    await startChild<ProduceRequest, ProduceReply>('producer.child.ts').request({
      transport,
      streamId,
      count,
      workIndex,
    })
    return streamId
  },
)

async function catchUp(
  transport: AnswerTransport,
  streamId: string,
  readers: number,
  count: number,
  workIndex: number,
): Promise<Job> {
  const { length } = await textOf(transport, count, workIndex)
  return job(
    () =>
      Promise.all(
        Array.from({ length: readers }, async () => {
          const { text } = await openReader(transport, streamId, length)
          return text
        }),
      ),
    texts => checkTexts(texts, transport, readers, count, workIndex),
  )
}
