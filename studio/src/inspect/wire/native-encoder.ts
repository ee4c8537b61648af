import { encodeNdjson, encodeSse, type Frame, FrameWriter, PROTOCOL_VERSION } from '@millrace/protocol'
import type { WireEncoder, WireRun } from './wire-encoder.ts'

/** Encodes a run as frames, one per entry. Cursors are plain sequences, since only the server knows their proof. */
export function nativeEncoder(format: 'sse' | 'ndjson', { sessionId }: WireRun): WireEncoder {
  const encode = format === 'sse' ? encodeSse : encodeNdjson
  const writer = new FrameWriter()
  let at: number | undefined
  const write = (frame: Frame) => encode(frame, writer)
  const open = (after: number): string => {
    const about = { protocol: PROTOCOL_VERSION, sessionId, incarnation: '…', head: after, heartbeatMs: 15_000 } as const
    return write({ type: 'open', ...about, cursor: `${after}` })
  }
  return {
    encode: entry => {
      const { sequence } = entry
      const first = at === undefined ? [open(sequence - 1)] : []
      const after = at ?? sequence - 1
      at = sequence
      return [...first, write({ type: 'entries', after, sequence, entries: [entry], cursor: `${sequence}` })]
    },
    // A reader that resumes from a cursor needs nothing again.
    resume: () => [],
    end: status => [write({ type: 'end', status, sequence: at ?? 0 })],
  }
}
