import { createParser } from 'eventsource-parser'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Frame } from '../frame/frame.ts'
import { runs } from '../property-runs.fixture.ts'
import { encodeSse, SseDecoder } from './sse.ts'

const frame: Frame = { type: 'truncated', floor: 3, incarnation: 'i' }
const json = JSON.stringify(frame)

function decode(text: string) {
  const frames: Frame[] = []
  let heartbeats = 0
  const decoder = new SseDecoder({ onFrame: frame => frames.push(frame), onHeartbeat: () => heartbeats++ })
  decoder.push(text)
  decoder.end()
  return { frames, heartbeats }
}

describe('SSE on the wire', () => {
  it('repeats the cursor as the id, in frames with a cursor', () => {
    const caughtUp: Frame = { type: 'caught-up', sequence: 3, cursor: '3.i.e' }
    expect(encodeSse(caughtUp)).toBe('id: 3.i.e\ndata: {"type":"caught-up","sequence":3,"cursor":"3.i.e"}\n\n')
    expect(encodeSse(frame)).toBe(`data: ${json}\n\n`)
  })

  it.each(['1\ndata: {}', '1\r', '1\0'])('rejects a cursor that would start another field: %j', cursor => {
    expect(() => encodeSse({ type: 'caught-up', sequence: 3, cursor })).toThrow(
      expect.objectContaining({ code: 'invalid-cursor' }),
    )
  })

  it.each<[string, string]>([
    ['no space after the colon', `data:${json}\n\n`],
    ['data in many lines', 'data: {"type":"truncated",\ndata:\ndata: "floor":3,"incarnation":"i"}\n\n'],
    ['lone CRs', `id: 1\rdata: ${json}\r\r`],
    ['mixed line ends', `id: 1\r\ndata: ${json}\r\n\n`],
    ['fields before and after', `event: message\nid: 1\nretry: 5\nother: x\ndata: ${json}\nfoo\n\n`],
    ['an event without data before it', `id: 1\n\ndata: ${json}\n\n`],
  ])('accepts %s', (_, text) => {
    expect(decode(text)).toEqual({ frames: [frame], heartbeats: 0 })
  })

  it('treats comments as heartbeats, also inside an event', () => {
    expect(decode(`:\n\n: ping\ndata: ${json}\n:pong\n\n`)).toEqual({ frames: [frame], heartbeats: 3 })
  })

  it('drops an incomplete event at the end', () => {
    expect(decode(`data: ${json}\n\ndata: ${json}\n`).frames).toEqual([frame])
  })

  it('drops one BOM, and treats a second as part of the first field', () => {
    const bytes = (text: string) => new TextEncoder().encode(text)
    const decodeBytes = (text: string) => {
      const frames: Frame[] = []
      new SseDecoder({ onFrame: frame => frames.push(frame) }).push(bytes(text))
      return frames
    }
    expect(decodeBytes(`\ufeffdata: ${json}\n\n`)).toEqual([frame])
    expect(decodeBytes(`\ufeff\ufeffdata: ${json}\n\n`)).toEqual([])
  })

  it('law 8: limits an event in many lines like an event in one line', () => {
    const decoder = new SseDecoder({ onFrame: () => {}, maxLength: 100 })
    for (let i = 0; i < 50; i++) decoder.push('data: x\n')
    decoder.push('data\n')
    expect(() => decoder.push('data:\n')).toThrow(expect.objectContaining({ code: 'line-too-long' }))
  })

  it('rejects a comment longer than the maximum frame, complete or in pieces', () => {
    for (const size of [500, 7]) {
      const decoder = new SseDecoder({ onFrame: () => {}, maxLength: 100 })
      const text = `:${'x'.repeat(200)}\n`
      const push = () => {
        for (let i = 0; i < text.length; i += size) decoder.push(text.slice(i, i + size))
      }
      expect(push).toThrow(expect.objectContaining({ code: 'line-too-long' }))
    }
  })

  describe('compared with eventsource-parser', () => {
    class FrameTextDecoder extends SseDecoder {
      readonly texts: string[] = []
      protected override frame(text: string): void {
        this.texts.push(text)
      }
    }

    function decodeWithBoth(pieces: string[]) {
      const theirs = { texts: [] as string[], comments: 0 }
      const parser = createParser({
        onEvent: ({ data }) => theirs.texts.push(data),
        onComment: () => theirs.comments++,
      })
      let comments = 0
      const decoder = new FrameTextDecoder({ onFrame: () => {}, onHeartbeat: () => comments++ })
      for (const piece of pieces) {
        parser.feed(piece)
        decoder.push(piece)
      }
      decoder.end()
      return { ours: { texts: decoder.texts, comments }, theirs }
    }

    const lineEnd = fc.constantFrom('\n', '\n', '\r\n', '\r')
    const field = fc.constantFrom(
      ...['data', 'data:', 'data: ', 'data:  ', 'data :', ' data:', 'Data:', 'datax:', 'dat', ':', ': ', '::'],
      ...['id', 'id:', 'event: ', 'retry: ', 'retry:1', 'x', 'x:', '', '\ufeff', '\ufeffdata:', '\0'],
    )
    const value = fc.oneof(
      fc.constantFrom('', '{}', ' ', ':', 'a:b', '\0', '🌾', '\u2028', '12', '\ufeff'),
      fc.string(),
    )
    const line = fc
      .tuple(fc.oneof(fc.constantFrom('data:', 'data: '), field), value, lineEnd)
      .map(parts => parts.join(''))
    const stream = fc.array(fc.oneof(line, line, lineEnd), { maxLength: 20 }).map(lines => lines.join(''))

    it('gives the same events for any text, split anywhere', () => {
      let events = 0
      fc.assert(
        fc.property(stream, fc.array(fc.nat(), { maxLength: 10 }), (text, offsets) => {
          const cuts = [...offsets.map(cut => cut % (text.length + 1)), 0, text.length].sort((a, b) => a - b)
          const { ours, theirs } = decodeWithBoth(cuts.slice(1).map((end, i) => text.slice(cuts[i], end)))
          expect(ours).toEqual(theirs)
          events += ours.texts.length
        }),
        { numRuns: runs(1000) },
      )
      expect(events).toBeGreaterThan(runs(300))
    })

    it.each([
      'data\n\n',
      'data\r\r',
      'data:\n\n',
      'data: \n\n',
      'data:  \n\n',
      'data: a\r\r\ndata: b\r\n\r\n',
      'data: a\n\r',
      '\ufeffdata: a\n\n',
      '\ufeff\n\ufeffdata: a\n\n',
      ':\r\n:\r:\n',
      'data: a\nid: 1\0\ndata: b\n\n',
      'data: a\n',
      '\n\n\n',
    ])('gives the same events for %j, in pieces of every size', text => {
      for (let size = 1; size <= text.length; size++) {
        const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
          text.slice(i * size, i * size + size),
        )
        const { ours, theirs } = decodeWithBoth(pieces)
        expect(ours).toEqual(theirs)
      }
    })
  })
})
