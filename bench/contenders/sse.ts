// Frames as Server-Sent Events: our encoder and decoder, and hand-written code around the same parser.
import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { encodeSse, type Frame, FrameWriter, SseDecoder } from '@millrace/protocol'
import { createParser } from 'eventsource-parser'
import { connection } from '../fixtures/frames.ts'
import { answer, checkText } from '../fixtures/text.ts'
import { type Job, job } from '../harness/suite.ts'

interface TextFrame {
  entries?: { chunk: { delta: string } }[]
}

/** Decodes the bytes to validated frames. */
export function decodeFrames(count: number, workIndex: number, size: number): Job {
  const { bytes, events } = connection(count, workIndex, size)
  return job(
    () => {
      let text = ''
      let frames = 0
      const onFrame = (frame: Frame) => {
        frames++
        for (const { chunk } of (frame as unknown as TextFrame).entries ?? []) text += chunk.delta
      }
      const decoder = new SseDecoder({ onFrame })
      for (const piece of bytes) decoder.push(piece)
      decoder.end()
      return { text, frames }
    },
    ({ text, frames }) => {
      strictEqual(frames, events.length)
      checkText(text, answer(count, workIndex))
    },
  )
}

/** Parses the bytes without validation. */
export function parseEvents(count: number, workIndex: number, size: number, parse: 'JSON' | 'nothing'): Job {
  const { bytes, events } = connection(count, workIndex, size)
  return job(
    () => {
      let text = ''
      let eventCount = 0
      const utf8 = new TextDecoder()
      const parser = createParser({
        onEvent: event => {
          eventCount++
          if (parse === 'nothing') return
          for (const { chunk } of (JSON.parse(event.data) as TextFrame).entries ?? []) text += chunk.delta
        },
      })
      for (const piece of bytes) parser.feed(utf8.decode(piece, { stream: true }))
      return { text, eventCount }
    },
    ({ text, eventCount }) => {
      strictEqual(eventCount, events.length)
      if (parse === 'JSON') checkText(text, answer(count, workIndex))
    },
  )
}

/** Encodes the frames as events with our encoder. */
export function encodeFrames(count: number, workIndex: number, size: number): Job {
  const { frames, events } = connection(count, workIndex, size)
  return encodeJob(frames, events, () => {
    const writer = new FrameWriter()
    return frame => encodeSse(frame, writer)
  })
}

/** Encodes frames by hand, from objects that already lack their optional fields. */
export function stringifyFrames(count: number, workIndex: number, size: number): Job {
  const { frames, wire, events } = connection(count, workIndex, size)
  const packed = wire.map((frame, i) => ({ frame, cursor: frames[i]?.cursor }))
  return encodeJob(
    packed,
    events,
    () =>
      ({ frame, cursor }) =>
        `id: ${cursor}\ndata: ${JSON.stringify(frame)}\n\n`,
  )
}

/** Counts the bytes of each event, which flattens its string like sending does, and drops it. Retaining all events would measure garbage collection. */
function encodeJob<T>(frames: T[], events: string[], encoder: () => (frame: T) => string): Job {
  return job(
    () => {
      const encode = encoder()
      let length = 0
      for (const frame of frames) length += Buffer.byteLength(encode(frame))
      return length
    },
    length => {
      strictEqual(length, Buffer.byteLength(events.join('')))
      deepStrictEqual(frames.map(encoder()), events)
    },
  )
}
