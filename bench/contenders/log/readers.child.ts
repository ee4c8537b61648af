// Readers in a child process.
import { type AnswerReader, type AnswerTransport, openReader } from './answers.ts'
import { handleRequests } from './start-child.ts'

/** Connect readers, or report the texts that they received. */
export type ReadersRequest =
  | { kind: 'connect'; transport: AnswerTransport; streamId: string; readers: number; length: number }
  | { kind: 'report'; streamId: string }

/** Text of each reader, for `report`. */
export interface ReadersReply {
  texts: string[]
}

const readersByStream = new Map<string, AnswerReader[]>()

handleRequests<ReadersRequest, ReadersReply>(async request => {
  if (request.kind === 'report') {
    const answerReaders = readersByStream.get(request.streamId) ?? []
    readersByStream.delete(request.streamId)
    return { texts: await Promise.all(answerReaders.map(({ text }) => text)) }
  }
  const { transport, streamId, readers, length } = request
  readersByStream.set(
    streamId,
    await Promise.all(Array.from({ length: readers }, () => openReader(transport, streamId, length))),
  )
  return { texts: [] }
})
