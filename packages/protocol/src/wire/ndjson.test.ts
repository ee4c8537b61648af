import { describe, expect, it } from 'vitest'
import type { Frame } from '../frame/frame.ts'
import { open } from './connection.fixture.ts'
import { encodeNdjson, NdjsonDecoder } from './ndjson.ts'

const frame = open('a')
const json = JSON.stringify(frame)

function decode(...pieces: string[]) {
  const frames: Frame[] = []
  let heartbeats = 0
  const decoder = new NdjsonDecoder({ onFrame: frame => frames.push(frame), onHeartbeat: () => heartbeats++ })
  for (const piece of pieces) decoder.push(piece)
  decoder.end()
  return { frames, heartbeats }
}

describe('NDJSON on the wire', () => {
  it('has one line per frame', () => {
    expect(encodeNdjson(frame)).toBe(`${json}\n`)
  })

  it('may omit the last line end', () => {
    expect(decode(`${json}\n${json}`).frames).toEqual([frame, frame])
    expect(decode(json.slice(0, 9), json.slice(9)).frames).toEqual([frame])
  })

  it('rejects a last line that is complete but not a frame', () => {
    expect(() => decode('{}')).toThrow(expect.objectContaining({ code: 'invalid-frame' }))
  })

  it('treats blank lines as heartbeats, but not the end of the text', () => {
    expect(decode(`\n\r\n${json}\r\n\n`)).toEqual({ frames: [frame], heartbeats: 3 })
    expect(decode('')).toEqual({ frames: [], heartbeats: 0 })
  })

  it('accepts CRLF and CR line ends', () => {
    expect(decode(`${json}\r\n${json}\r${json}\r\n\r\n`)).toEqual({ frames: [frame, frame, frame], heartbeats: 1 })
  })
})
