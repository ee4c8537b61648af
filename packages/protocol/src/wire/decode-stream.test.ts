import * as fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Frame } from '../frame/frame.ts'
import { FrameWriter } from '../frame/frame-writer.ts'
import { runs } from '../property-runs.fixture.ts'
import { collectAll } from '../streams/collect.ts'
import { take } from '../streams/slice.ts'
import { arbitraryConnection, open } from './connection.fixture.ts'
import { decodeNdjsonStream, decodeSseStream } from './decode-stream.ts'
import { encodeNdjson, NDJSON_HEARTBEAT } from './ndjson.ts'
import { encodeSse, SSE_HEARTBEAT } from './sse.ts'

const goneError = new Error('gone')
const utf8 = new TextEncoder()

/** A body of the given pieces that then ends or stays silent. Records how it was read. */
function body(pieces: (string | Uint8Array)[], then: 'end' | 'silence' = 'end') {
  const seen = { pulls: 0, cancelled: undefined as { reason: unknown } | undefined }
  const rest = pieces.values()
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = rest.next()
        if (!piece.done) {
          seen.pulls++
          controller.enqueue(typeof piece.value === 'string' ? utf8.encode(piece.value) : piece.value)
        } else if (then === 'end') controller.close()
        else return new Promise(() => {})
        return undefined
      },
      cancel(reason) {
        seen.cancelled = { reason }
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, seen }
}

const formats = [
  {
    name: 'decodeSseStream',
    decode: decodeSseStream,
    encode: encodeSse,
    heartbeat: SSE_HEARTBEAT,
    bad: 'data: {}\n\n',
  },
  {
    name: 'decodeNdjsonStream',
    decode: decodeNdjsonStream,
    encode: encodeNdjson,
    heartbeat: NDJSON_HEARTBEAT,
    bad: '{}\n',
  },
]

describe.each(formats)('$name', ({ decode, encode, heartbeat, bad }) => {
  const text = (...sessions: string[]) => sessions.map(session => encode(open(session))).join('')

  it('yields the frames of a body', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryConnection(), fc.integer({ min: 1, max: 50 }), async (frames, size) => {
        const writer = new FrameWriter()
        const bytes = utf8.encode(frames.map(frame => encode(frame, writer)).join(''))
        const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
          bytes.slice(i * size, (i + 1) * size),
        )
        expect(await collectAll(decode(body(pieces).stream))).toEqual(frames)
      }),
      { numRuns: runs(20) },
    )
  })

  it('has the type of frames', () => {
    expectTypeOf(decode(body([]).stream)).toEqualTypeOf<AsyncIterableIterator<Frame, undefined>>()
  })

  it('reads only on demand and unlocks an ended body', async () => {
    const { stream, seen } = body([text('a', 'b'), text('c')])
    const frames = decode(stream)
    expect(seen.pulls).toBe(0)
    expect([(await frames.next()).value, (await frames.next()).value]).toEqual([open('a'), open('b')])
    expect(seen.pulls).toBe(1)
    expect(await collectAll(frames)).toEqual([open('c')])
    expect(seen.cancelled).toBeUndefined()
    expect(stream.locked).toBe(false)
  })

  it('cancels the body when the consumer leaves, before, between and within pieces', async () => {
    for (const count of [0, 1, 2, 3]) {
      const { stream, seen } = body([text('a', 'b'), text('c', 'd')], 'silence')
      expect(await collectAll(take(decode(stream), count))).toHaveLength(count)
      expect(seen.cancelled).toBeDefined()
      expect(stream.locked).toBe(false)
    }
  })

  it('cancels the body when the consumer leaves while it is silent', async () => {
    const { stream, seen } = body([], 'silence')
    const frames = decode(stream)
    const next = frames.next()
    await (frames.return?.() as Promise<unknown>)
    expect(await next).toEqual({ done: true, value: undefined })
    expect(seen.cancelled).toBeDefined()
  })

  it('throws the reason and cancels the body when aborted while it is silent', async () => {
    const { stream, seen } = body([text('a')], 'silence')
    const controller = new AbortController()
    setTimeout(() => controller.abort(goneError), 5)
    await expect(collectAll(decode(stream, controller))).rejects.toBe(goneError)
    expect(seen.cancelled).toBeDefined()
  })

  it('yields no frame after an abort', async () => {
    const { stream, seen } = body([text('a', 'b', 'c')], 'silence')
    const controller = new AbortController()
    const frames = decode(stream, controller)
    expect((await frames.next()).value).toEqual(open('a'))
    controller.abort(goneError)
    await expect(frames.next()).rejects.toBe(goneError)
    expect(seen.cancelled).toBeDefined()
  })

  it('throws for an invalid frame after the valid ones before it, and cancels the body', async () => {
    const { stream, seen } = body([text('a', 'b') + bad + text('c')], 'silence')
    const frames: Frame[] = []
    const run = async () => {
      for await (const frame of decode(stream)) frames.push(frame)
    }
    await expect(run()).rejects.toThrow(expect.objectContaining({ code: 'invalid-frame' }))
    expect(frames).toEqual([open('a'), open('b')])
    expect(seen.cancelled).toBeDefined()
  })

  it('passes on an error of the body', async () => {
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.error(goneError)
      },
    })
    await expect(collectAll(decode(stream))).rejects.toBe(goneError)
  })

  it('passes options to the decoder', async () => {
    let heartbeats = 0
    const { stream } = body([heartbeat + text('a'), heartbeat])
    expect(await collectAll(decode(stream, { onHeartbeat: () => heartbeats++ }))).toHaveLength(1)
    expect(heartbeats).toBe(2)
    await expect(collectAll(decode(body([text('a')]).stream, { maxLength: 9 }))).rejects.toThrow(
      expect.objectContaining({ code: 'line-too-long' }),
    )
  })
})

describe('the last line of NDJSON', () => {
  it('needs no line end', async () => {
    expect(await collectAll(decodeNdjsonStream(body([JSON.stringify(open('a'))]).stream))).toEqual([open('a')])
  })
})
