import { type ConnectionOptions, createConnection } from '@millrace/client'
import { decodeNdjsonStream } from '@millrace/protocol'
import type { ReadLog } from './verification.ts'

/** Reads logs of a server anew, every entry by itself, by a request of its own: what goes wrong with a tab's connection does not go wrong here. */
export function logReader(options?: ConnectionOptions): ReadLog {
  const { api } = createConnection(options)
  return async function* read(sessionId, after) {
    const path = `/sessions/${encodeURIComponent(sessionId)}/stream?after=${after}&live=false&whole=true`
    const { body } = await api.request('GET', path, { headers: { accept: 'application/x-ndjson' } })
    if (body === null) return
    for await (const frame of decodeNdjsonStream(body)) {
      if (frame.type === 'entries') yield frame
      if (frame.type === 'fail') throw new Error(frame.error.message)
      if (frame.type === 'truncated') throw new Error(`The log begins after ${frame.floor} by now.`)
      // The last of them may lie before the head: who reads is not to see all.
      if (frame.type === 'caught-up') yield { entries: [], sequence: frame.sequence }
    }
  }
}
