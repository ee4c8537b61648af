// Reads events from standard input, with line numbers.

import { EventReader } from '@millrace/dialects'
import { ProtocolError } from '@millrace/protocol'
import { isObject, LineSplitter } from '@millrace/protocol/internal'

const MAX_LINE_LENGTH = 16 * 1024 * 1024

/** Parses events: Server-Sent Events or one JSON value per line, detected automatically. */
export class EventInput {
  readonly #pieces: AsyncIterable<string>
  #reader: EventReader | undefined
  /** The number of the last line. */
  line = 0

  constructor(pieces: AsyncIterable<string>) {
    this.#pieces = pieces
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown> {
    const lines = new LineSplitter()
    for await (const piece of this.#pieces) {
      for (const line of lines.push(piece)) yield* this.#parseLine(line)
      if (lines.length > MAX_LINE_LENGTH) {
        this.line++
        throw new ProtocolError('line-too-long', `expected at most ${MAX_LINE_LENGTH} characters`)
      }
    }
    const rest = lines.end()
    if (rest !== '') yield* this.#parseLine(rest)
  }

  *#parseLine(line: string): Generator<unknown> {
    this.line++
    if (this.#reader === undefined && line.trim() === '') return
    this.#reader ??= new EventReader(/^\s*\{/.test(line) ? 'ndjson' : 'sse', MAX_LINE_LENGTH)
    for (const { data } of this.#reader.push(`${line}\n`)) {
      if (data !== '[DONE]') yield unwrap(parseObject(data))
    }
  }
}

function parseObject(data: string): object {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    throw new ProtocolError('invalid-json', 'expected JSON')
  }
  if (isObject(value)) return value
  throw new ProtocolError('invalid-field', 'expected an object')
}

/** Unwraps the envelope of TanStack AI, whose lines contain an event and its id. */
function unwrap(value: object): unknown {
  return 'chunk' in value && 'id' in value && Object.keys(value).length === 2 ? value.chunk : value
}
