import { JsonStream, type JsonStreamOptions } from './json-stream.ts'

export const strict = { strict: true }

/** A stream after all pieces and `end()`. */
export function feed(pieces: Iterable<string>, options: JsonStreamOptions = strict): JsonStream {
  const stream = new JsonStream(options)
  for (const piece of pieces) stream.push(piece)
  stream.end()
  return stream
}

/** Feeds a text to a stream and returns everything that the stream reports: growth (joined) and completions in order, the value, the error. */
export function replay(pieces: Iterable<string>, options: JsonStreamOptions = strict) {
  const reports: string[][] = []
  const stream = feed(pieces, {
    ...options,
    onGrow(delta, path) {
      const last = reports.at(-1)
      if (last?.[0] === 'grow') last[2] += delta
      else reports.push(['grow', String(path), delta])
    },
    onComplete: (value, path, repeated) =>
      reports.push(['complete', String(path), JSON.stringify(value), String(repeated)]),
  })
  return { reports, status: stream.status, error: stream.error?.message, value: JSON.stringify(stream.value) }
}
