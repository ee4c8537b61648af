// Cost of an answer for its producer while readers in another process follow it.
import { strictEqual } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { type AnswerTransport, checkTexts, openProducer, textOf } from './answers.ts'
import type { ReadersReply, ReadersRequest } from './readers.child.ts'
import { startChild } from './start-child.ts'

const readersChild = openOnce(() => startChild<ReadersRequest, ReadersReply>('readers.child.ts'))

/** Produces the answer of one piece of work for `readers` readers. */
export async function produceForReaders(
  transport: AnswerTransport,
  readers: number,
  count: number,
  workIndex: number,
): Promise<Job> {
  const streamId = randomUUID()
  const producer = await openProducer(transport, streamId, count, workIndex)
  const { length } = await textOf(transport, count, workIndex)
  await readersChild().request({ kind: 'connect', transport, streamId, readers, length })
  return job(
    async () => ({ producedId: streamId, length: await producer.produce() }),
    async ({ producedId, length: produced }) => {
      strictEqual(produced, length)
      const { texts } = await readersChild().request({ kind: 'report', streamId: producedId })
      await checkTexts(texts, transport, readers, count, workIndex)
    },
  )
}
