// A writer in a child process that writes the current time on request.

import { writeTimes } from './latency.ts'
import { openManager, startedWriter } from './ours.ts'
import { handleRequests } from './start-child.ts'
import type { Backend } from './target.ts'

/** The store, and the number of writes. */
export interface WriteRequest {
  backend: Backend
  file: string
  count: number
}

/** Sent after the last write. */
export interface WriteReply {
  streamId: string
}

let writer: ReturnType<typeof startedWriter> | undefined

handleRequests<WriteRequest, WriteReply>(async ({ backend, file, count }) => {
  writer ??= openManager(backend, file).then(startedWriter)
  await writeTimes(await writer, count)
  return { streamId: (await writer).streamId }
})
