import { encodeNdjson, encodeSse, type Frame, FrameWriter, PROTOCOL_VERSION } from '@millrace/protocol'
import type { Said, Speaker } from './speaker.ts'

/** Says a run in frames, one for each entry; cursors are bare sequences, since only the server knows their proof. */
export function nativeSpeaker(format: 'sse' | 'ndjson', { sessionId }: Said): Speaker {
  const encode = format === 'sse' ? encodeSse : encodeNdjson
  const writer = new FrameWriter()
  let at: number | undefined
  const write = (frame: Frame) => encode(frame, writer)
  const open = (after: number): string => {
    const about = { protocol: PROTOCOL_VERSION, sessionId, incarnation: '…', head: after, heartbeatMs: 15_000 } as const
    return write({ type: 'open', ...about, cursor: `${after}` })
  }
  return {
    say: entry => {
      const { sequence } = entry
      const first = at === undefined ? [open(sequence - 1)] : []
      const after = at ?? sequence - 1
      at = sequence
      return [...first, write({ type: 'entries', after, sequence, entries: [entry], cursor: `${sequence}` })]
    },
    // Who goes on from a cursor needs nothing said again.
    resume: () => [],
    end: status => [write({ type: 'end', status, sequence: at ?? 0 })],
  }
}
