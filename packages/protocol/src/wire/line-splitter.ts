// Lines are read here although eventsource-parser is there and good: this is the hot path of every client, NDJSON needs the same lines, and
// it is smaller. A test holds SSE to it, and `npm run bench -- sse` measures against it.

/** Splits a text that arrives in any pieces into lines, which end in LF, CRLF or CR. Drops a BOM at the start. */
export class LineSplitter {
  /** How much there is of the line that has not ended. */
  length = 0
  // Joined only when the line ends: a long line in many pieces stays linear.
  #pieces: string[] = []
  // What is no text where the next piece begins with it: the BOM, and then the LF of a CRLF that was split.
  #skipped = '\uFEFF'

  /** Takes the next piece and gives the lines that it ends. */
  push(text: string): string[] {
    if (text === '') return []
    // A plain separator is found faster.
    const lines = (text[0] === this.#skipped ? text.slice(1) : text).split(text.includes('\r') ? /\r\n?|\n/ : '\n')
    const last = lines.pop() as string
    if (lines.length > 0) lines[0] = this.end() + lines[0]
    this.#pieces.push(last)
    this.length += last.length
    this.#skipped = text.endsWith('\r') ? '\n' : ''
    return lines
  }

  /** Gives the line that has not ended. */
  end(): string {
    const line = this.#pieces.join('')
    this.#pieces = []
    this.length = 0
    return line
  }
}
