// Telling an answer while so many readers in another process hear it: what they cost the one who tells.
import { strictEqual } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { checkTexts, openTelling, textOf, type Way } from './answers.ts'
import { apart } from './apart.ts'
import type { Heard, HeardAnswer } from './hearers.child.ts'

const hearers = openOnce(() => apart<Heard, HeardAnswer>('hearers.child.ts'))

/** Tells the answer of one piece of work to so many. */
export async function tellTo(way: Way, readers: number, count: number, piece: number): Promise<Job> {
  const streamId = randomUUID()
  const telling = await openTelling(way, streamId, count, piece)
  const { length } = await textOf(way, count, piece)
  await hearers().ask({ kind: 'come', way, streamId, readers, length })
  return job(
    async () => ({ told: streamId, said: await telling.tell() }),
    async ({ told, said }) => {
      strictEqual(said, length)
      const { texts } = await hearers().ask({ kind: 'tell', streamId: told })
      await checkTexts(texts, way, readers, count, piece)
    },
  )
}
