// The writer of another process: tells the time as often as it is asked to.
import { answer } from './apart.ts'
import { tellTime } from './latency.ts'
import { openManager, startedWriter } from './ours.ts'
import type { Backend } from './target.ts'

/** What to write to, and how often. */
export interface Spoken {
  backend: Backend
  file: string
  count: number
}

/** Said when all is written. */
export interface SpokenAnswer {
  streamId: string
}

let writer: ReturnType<typeof startedWriter> | undefined

answer<Spoken, SpokenAnswer>(async ({ backend, file, count }) => {
  writer ??= openManager(backend, file).then(startedWriter)
  await tellTime(await writer, count)
  return { streamId: (await writer).streamId }
})
