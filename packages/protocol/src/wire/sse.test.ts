import { describe, expect, it } from 'vitest'
import type { Frame } from '../frame.ts'
import { encodeSse, SseDecoder } from './sse.ts'

const status: Frame = { type: 'status', status: 'active' }
const json = JSON.stringify(status)

function decode(text: string) {
  const frames: Frame[] = []
  let heartbeats = 0
  const decoder = new SseDecoder({ onFrame: frame => frames.push(frame), onHeartbeat: () => heartbeats++ })
  decoder.push(text)
  decoder.end()
  return { frames, heartbeats }
}

describe('SSE on the wire', () => {
  it('repeats the cursor as the id, in frames that carry one', () => {
    const frame: Frame = { type: 'caught-up', sequence: 3, cursor: '3.i.e' }
    expect(encodeSse(frame)).toBe('id: 3.i.e\ndata: {"type":"caught-up","sequence":3,"cursor":"3.i.e"}\n\n')
    expect(encodeSse(status)).toBe(`data: ${json}\n\n`)
  })

  it.each(['1\ndata: {}', '1\r', '1\0'])('refuses a cursor that could pose as more than an id: %j', cursor => {
    expect(() => encodeSse({ type: 'caught-up', sequence: 3, cursor })).toThrow(
      expect.objectContaining({ code: 'invalid-cursor' }),
    )
  })

  it.each<[string, string]>([
    ['no space after the colon', `data:${json}\n\n`],
    ['data in many lines', 'data: {"type":"status",\ndata:\ndata: "status":"active"}\n\n'],
    ['lone CRs', `id: 1\rdata: ${json}\r\r`],
    ['mixed line ends', `id: 1\r\ndata: ${json}\r\n\n`],
    ['fields before and after', `event: message\nid: 1\nretry: 5\nother: x\ndata: ${json}\nfoo\n\n`],
    ['an event without data before it', `id: 1\n\ndata: ${json}\n\n`],
  ])('accepts %s', (_, text) => {
    expect(decode(text)).toEqual({ frames: [status], heartbeats: 0 })
  })

  it('takes comments for heartbeats, also inside of an event', () => {
    expect(decode(`:\n\n: ping\ndata: ${json}\n:pong\n\n`)).toEqual({ frames: [status], heartbeats: 3 })
  })

  it('takes an event that nothing ended for cut off', () => {
    expect(decode(`data: ${json}\n\ndata: ${json}\n`).frames).toEqual([status])
  })
})
