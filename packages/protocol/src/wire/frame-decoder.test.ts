// The common behaviour of both wire formats, for any split of the bytes.

import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { ProtocolError } from '../error/protocol-error.ts'
import type { Frame } from '../frame/frame.ts'
import { FrameWriter } from '../frame/frame-writer.ts'
import { runs } from '../property-runs.fixture.ts'
import { arbitraryConnection, open } from './connection.fixture.ts'
import { encodeNdjson, NDJSON_HEARTBEAT, NdjsonDecoder } from './ndjson.ts'
import { encodeSse, SSE_HEARTBEAT, SseDecoder } from './sse.ts'

const formats = [
  {
    name: 'SSE',
    encode: encodeSse,
    Decoder: SseDecoder,
    heartbeat: SSE_HEARTBEAT,
    line: (text: string) => `data:${text}\n\n`,
  },
  {
    name: 'NDJSON',
    encode: encodeNdjson,
    Decoder: NdjsonDecoder,
    heartbeat: NDJSON_HEARTBEAT,
    line: (text: string) => `${text}\n`,
  },
]

const first = open('a')
const utf8 = new TextEncoder()

/** Splits bytes at the given positions, modulo their length. */
function split(bytes: Uint8Array, offsets: number[]): Uint8Array[] {
  const cuts = [...new Set(offsets.map(cut => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  return [...cuts, bytes.length].map((end, i) => bytes.slice(i === 0 ? 0 : cuts[i - 1], end))
}

describe.each(formats)('$name', ({ encode, Decoder, heartbeat, line }) => {
  function decode(pieces: Iterable<Uint8Array | string>, maxLength?: number) {
    const frames: Frame[] = []
    let heartbeats = 0
    let error: unknown
    const decoder = new Decoder({ onFrame: frame => frames.push(frame), onHeartbeat: () => heartbeats++, maxLength })
    try {
      for (const piece of pieces) decoder.push(piece)
      decoder.end()
    } catch (thrown) {
      error = thrown
    }
    return { frames, heartbeats, error, decoder }
  }

  const write = (frames: Frame[], between = ''): string => {
    const writer = new FrameWriter()
    return frames.map(frame => encode(frame, writer) + between).join('')
  }

  it('decodes the encoded frames, for any split, line ends and heartbeats', () => {
    const offsets = fc.array(fc.nat(), { maxLength: 12 })
    fc.assert(
      fc.property(
        arbitraryConnection(),
        offsets,
        fc.boolean(),
        fc.boolean(),
        fc.boolean(),
        (frames, cuts, crlf, bom, beat) => {
          const text = (bom ? '\ufeff' : '') + write(frames, beat ? heartbeat : '')
          const bytes = utf8.encode(crlf ? text.replaceAll('\n', '\r\n') : text)
          const decoded = decode(split(bytes, cuts))
          expect(decoded.error).toBeUndefined()
          expect(decoded.frames).toEqual(frames)
          expect(decoded.heartbeats).toBe(beat ? frames.length : 0)
        },
      ),
      { numRuns: runs(150) },
    )
  })

  it('decodes text split at any byte, and single bytes', () => {
    const frames: Frame[] = [
      open('a🌾ß\n漢'),
      { type: 'end', status: 'completed', sequence: 9, output: { text: '\u2028 \ud83d 🌊' } },
    ]
    for (const end of ['\n', '\r\n']) {
      const bytes = utf8.encode(write(frames).replaceAll('\n', end))
      for (let at = 0; at <= bytes.length; at++) {
        expect(decode([bytes.slice(0, at), bytes.slice(at)])).toMatchObject({ frames, error: undefined })
      }
      expect(decode(Array.from(bytes, byte => Uint8Array.of(byte)))).toMatchObject({ frames, error: undefined })
    }
  })

  it('accepts text as well as bytes', () => {
    const text = `\ufeff${write([first])}`
    expect(decode([text])).toMatchObject({ frames: [first], error: undefined })
    expect(decode([...text])).toMatchObject({ frames: [first], error: undefined })
  })

  it('without a writer, frames do not depend on other frames', () => {
    const frame: Frame = { type: 'entries', after: 1, sequence: 2, entries: [], cursor: '2' }
    const decoded = decode([encode(first), encode(frame), encode({ ...frame, after: 2, sequence: 3, cursor: '3' })])
    expect(decoded.frames).toMatchObject([first, { after: 1 }, { after: 2 }])
  })

  it('law 10: writes no internal entry', () => {
    const origin = { guest: 'ann' }
    const chunk = { type: 'run-context', context: 'secret' } as const
    const entries = [{ sequence: 1, timestamp: 1, origin, chunk, internal: true } as const]
    const frame: Frame = { type: 'entries', after: 0, sequence: 1, entries, cursor: '1' }
    expect(encode(frame)).not.toContain('secret')
    expect(write([first, frame])).not.toContain('secret')
    expect(decode([write([first, frame])]).frames).toEqual([first, { ...frame, entries: [] }])
  })

  it.each([
    ['a marker of another protocol', '[DONE]', 'invalid-json', 'frame 2: expected JSON, found "[DONE]"'],
    ['JSON that is cut', '{"type":', 'invalid-json', 'frame 2: expected JSON, found "{\\"type\\":"'],
    ['JSON that is no frame', '7', 'invalid-frame', 'frame 2: expected object, found 7'],
    ['a frame of no known type', '{"type":"x"}', 'invalid-frame', 'frame 2 x: expected one of open, entries'],
    [
      'a field of the wrong type',
      '{"type":"end","status":1}',
      'invalid-frame',
      'frame 2 end.status: expected completed',
    ],
    [
      'an entry of the wrong form',
      '{"type":"entries","sequence":1,"entries":[7],"cursor":"1"}',
      'invalid-frame',
      'frame 2 entries.entries[0]: expected object, found 7',
    ],
    [
      'entries without a place',
      '{"type":"entries","sequence":1,"entries":[],"cursor":"1"}',
      'invalid-frame',
      'frame entries.after: expected one in the first frame',
    ],
  ])('rejects %s, after the frames before it', (_, data, code, message) => {
    const decoded = decode([line(JSON.stringify(first)) + line(data) + line(JSON.stringify(first))])
    expect(decoded.frames).toEqual([first])
    expect(decoded.error).toBeInstanceOf(ProtocolError)
    expect(decoded.error).toMatchObject({ code, message: expect.stringContaining(message) })
  })

  it('throws the same error again after an error', () => {
    const { decoder, error, frames } = decode([line('nonsense')])
    expect(() => decoder.push(line(JSON.stringify(first)))).toThrow(error as Error)
    expect(() => decoder.end()).toThrow(error as Error)
    expect(frames).toEqual([])
  })

  it('throws the error of a listener again, for any thrown value', () => {
    const decoder = new Decoder({
      onFrame: () => {
        throw undefined
      },
    })
    const attempt = () => decoder.push(line(JSON.stringify(first)))
    expect(attempt).toThrow()
    expect(attempt).toThrow()
  })

  it('drops an incomplete frame at the end', () => {
    const text = write([first, first])
    expect(decode([text.slice(0, -5)])).toMatchObject({ frames: [first], error: undefined })
  })

  describe('the maximum length', () => {
    const long = { ...first, sessionId: 'x'.repeat(200) } satisfies Frame
    const length = JSON.stringify(long).length

    it.each(['\n', '\r\n'])(
      'lets a frame of its length pass and refuses one character more, at every split (%j)',
      end => {
        const text = write([first, long]).replaceAll('\n', end)
        for (let at = 0; at <= text.length; at++) {
          const pieces = [text.slice(0, at), text.slice(at)]
          expect(decode(pieces, length)).toMatchObject({ frames: [first, long], error: undefined })
          const { frames, error } = decode(pieces, length - 1)
          expect(frames).toEqual([first])
          expect(error).toMatchObject({
            code: 'line-too-long',
            message: `frame 2: expected at most ${length - 1} characters`,
          })
        }
      },
    )

    it('law 8: limits a line without end', () => {
      const decoder = new Decoder({ onFrame: () => {}, maxLength: 10_000 })
      const piece = 'x'.repeat(1000)
      decoder.push(line('').startsWith('data') ? 'data:' : '')
      let pushed = 0
      expect(() => {
        for (; pushed < 1e6; pushed += piece.length) decoder.push(piece)
      }).toThrow(expect.objectContaining({ code: 'line-too-long' }))
      expect(pushed).toBeLessThanOrEqual(11_000)
    })

    it('is 16 Mi characters by default', () => {
      const fits = JSON.stringify({ ...first, sessionId: '' }).length
      const frame = (size: number) => line(JSON.stringify({ ...first, sessionId: 'x'.repeat(size - fits) }))
      expect(decode([frame(16 * 1024 * 1024)])).toMatchObject({ frames: [{ type: 'open' }], error: undefined })
      expect(decode([frame(16 * 1024 * 1024 + 1)]).error).toMatchObject({ code: 'line-too-long' })
    })
  })

  // Copying or scanning the frame again for each piece would touch 2 * 10^12 characters, far more than a test has time for.
  it('reads a frame of 4 MB in pieces of 4 characters in linear time', () => {
    const text = line(JSON.stringify({ ...first, sessionId: 'x'.repeat(4_000_000) }))
    const pieces = Array.from({ length: Math.ceil(text.length / 4) }, (_, i) => text.slice(i * 4, i * 4 + 4))
    expect(decode(pieces).frames).toHaveLength(1)
  })

  it('returns frames or a typed error for any bytes', () => {
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc
        .array(
          fc.constantFrom(
            'data:',
            'data',
            ':',
            'id:x',
            '\n',
            '\r',
            '\r\n',
            '\n\n',
            '{',
            '}',
            '[]',
            '"',
            '7',
            ' ',
            '\0',
            '🌾',
          ),
          {
            maxLength: 12,
          },
        )
        .map(parts => utf8.encode(parts.join(''))),
      fc.constant(utf8.encode(line(JSON.stringify(first)))),
    )
    fc.assert(
      fc.property(fc.array(noise, { maxLength: 8 }), pieces => {
        const { frames, heartbeats, error } = decode(pieces)
        if (error !== undefined) expect(error).toBeInstanceOf(ProtocolError)
        for (const frame of frames) expect(frame).toEqual(first)
        const unsplit = new Uint8Array(pieces.flatMap(piece => [...piece]))
        expect(decode([unsplit])).toMatchObject({ frames, heartbeats, error })
        const bounded = decode(pieces, 40).error
        if (bounded !== undefined) expect(bounded).toBeInstanceOf(ProtocolError)
      }),
      { numRuns: runs(300) },
    )
  })

  it('returns the same for any split of damaged bytes', () => {
    fc.assert(
      fc.property(arbitraryConnection(), fc.array(fc.nat()), fc.nat(), fc.nat(255), (frames, cuts, index, byte) => {
        const bytes = utf8.encode(write(frames))
        bytes[index % bytes.length] = byte
        const unsplit = decode([bytes])
        const pieces = decode(split(bytes, cuts))
        expect(pieces.frames).toEqual(unsplit.frames)
        expect(pieces.error).toEqual(unsplit.error)
      }),
      { numRuns: runs(150) },
    )
  })

  it('works without a heartbeat listener', () => {
    const onFrame = vi.fn()
    new Decoder({ onFrame }).push(heartbeat + write([first]))
    expect(onFrame).toHaveBeenCalledExactlyOnceWith(first)
  })
})
