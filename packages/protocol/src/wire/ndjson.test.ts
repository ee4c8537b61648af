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
  it('is one line a frame', () => {
    expect(encodeNdjson(frame)).toBe(`${json}\n`)
  })

  it('may lack the last line end', () => {
    expect(decode(`${json}\n${json}`).frames).toEqual([frame, frame])
    expect(decode(json.slice(0, 9), json.slice(9)).frames).toEqual([frame])
  })

  it('refuses a last line that is whole and no frame', () => {
    expect(() => decode('{}')).toThrow(expect.objectContaining({ code: 'invalid-frame' }))
  })

  it('takes blank lines for heartbeats, but not its own end', () => {
    expect(decode(`\n\r\n${json}\r\n\n`)).toEqual({ frames: [frame], heartbeats: 3 })
    expect(decode('')).toEqual({ frames: [], heartbeats: 0 })
  })

  it('takes lines that end in CRLF or CR as well', () => {
    expect(decode(`${json}\r\n${json}\r${json}\r\n\r\n`)).toEqual({ frames: [frame, frame, frame], heartbeats: 1 })
  })
})
