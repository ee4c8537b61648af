// Why not eventsource-parser: this is the hot path of every client, NDJSON needs the same lines, and this code is smaller. A test compares
// the SSE decoder with eventsource-parser, and so does `npm run bench -- sse`.

/** Splits text that arrives in pieces into lines that end in LF, CRLF or CR. Drops a BOM at the start. */
export class LineSplitter {
  /** The length of the incomplete line. */
  length = 0
  // Joined when the line ends, so that a long line in many pieces takes linear time.
  #pieces: string[] = []
  // Dropped at the start of the next piece: the BOM, and later the LF of a split CRLF.
  #skipped = '\uFEFF'

  /** Returns the lines that the next piece completes. */
  push(text: string): string[] {
    if (text === '') return []
    // A string separator is faster than a pattern.
    const lines = (text[0] === this.#skipped ? text.slice(1) : text).split(text.includes('\r') ? /\r\n?|\n/ : '\n')
    const last = lines.pop() as string
    if (lines.length > 0) lines[0] = this.end() + lines[0]
    this.#pieces.push(last)
    this.length += last.length
    this.#skipped = text.endsWith('\r') ? '\n' : ''
    return lines
  }

  /** Returns the incomplete line. */
  end(): string {
    const line = this.#pieces.join('')
    this.#pieces = []
    this.length = 0
    return line
  }
}
