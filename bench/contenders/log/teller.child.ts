// The producer of another process: tells an answer and stays, since some keep what they said nowhere else.
import { openTelling, type Way } from './answers.ts'
import { answer } from './apart.ts'

/** Which answer to tell, and how. */
export interface Told {
  way: Way
  streamId: string
  count: number
  piece: number
}

/** Said when all of it was told. */
export type ToldAnswer = Record<string, never>

answer<Told, ToldAnswer>(async ({ way, streamId, count, piece }) => {
  await (await openTelling(way, streamId, count, piece)).tell()
  return {}
})
