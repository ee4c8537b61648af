// A producer in a child process. It stays alive, because resumable-stream keeps the text in its memory.
import { type AnswerTransport, openProducer } from './answers.ts'
import { handleRequests } from './start-child.ts'

/** The answer to produce. */
export interface ProduceRequest {
  transport: AnswerTransport
  streamId: string
  count: number
  workIndex: number
}

/** Sent when the answer is complete. */
export type ProduceReply = Record<string, never>

handleRequests<ProduceRequest, ProduceReply>(async ({ transport, streamId, count, workIndex }) => {
  await (await openProducer(transport, streamId, count, workIndex)).produce()
  return {}
})
