import { type ConnectionOptions, createConnection } from '@millrace/client'
import { decodeNdjsonStream } from '@millrace/protocol'
import type { ReadLog } from './verification.ts'

/** Reads a log again with a separate request, which injected faults do not affect. */
export function logReader(options?: ConnectionOptions): ReadLog {
  const { api } = createConnection(options)
  return async function* read(sessionId, after) {
    const path = `/sessions/${encodeURIComponent(sessionId)}/stream?after=${after}&live=false&whole=true`
    const { body } = await api.request('GET', path, { headers: { accept: 'application/x-ndjson' } })
    if (body === null) return
    for await (const frame of decodeNdjsonStream(body)) {
      if (frame.type === 'entries') yield frame
      if (frame.type === 'fail') throw new Error(frame.error.message)
      if (frame.type === 'truncated')
        throw new Error(`Expected entries after ${after}, but the log was trimmed up to ${frame.floor}.`)
      // The last visible entry may lie before the head: internal entries are not sent.
      if (frame.type === 'caught-up') yield { entries: [], sequence: frame.sequence }
    }
  }
}
