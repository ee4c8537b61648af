// Readers who come when an answer has been told, all at once, until each has all of it.
import { randomUUID } from 'node:crypto'
import { openOnce } from '../../harness/cleanup.ts'
import { type Job, job } from '../../harness/suite.ts'
import { told } from './answer-ours.ts'
import { checkTexts, hear, textOf, type Way } from './answers.ts'
import { apart } from './apart.ts'
import type { Told, ToldAnswer } from './teller.child.ts'

/** Of our log, told so many tokens an append. */
export async function catchUpOurs(
  size: number,
  state: 'live' | 'finished',
  readers: number,
  count: number,
  piece: number,
): Promise<Job> {
  return catchUp('ours', await told(count, piece, size, state), readers, count, piece)
}

/** Of a stream whose producer is another process and still there. */
export async function catchUpResumable(
  way: 'tokens' | 'events',
  readers: number,
  count: number,
  piece: number,
): Promise<Job> {
  return catchUp(way, await toldApart(way, count, piece), readers, count, piece)
}

const toldApart = openOnce(async (way: Way, count: number, piece: number): Promise<string> => {
  const streamId = randomUUID()
  await apart<Told, ToldAnswer>('teller.child.ts').ask({ way, streamId, count, piece })
  return streamId
})

async function catchUp(way: Way, streamId: string, readers: number, count: number, piece: number): Promise<Job> {
  const { length } = await textOf(way, count, piece)
  return job(
    () =>
      Promise.all(
        Array.from({ length: readers }, async () => {
          const { text } = await hear(way, streamId, length)
          return text
        }),
      ),
    texts => checkTexts(texts, way, readers, count, piece),
  )
}
