// Where a command writes to: what programs read, and what people do.

import { once } from 'node:events'
import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

export interface Terminal {
  /** Whether values are written as JSON. */
  readonly isJson: boolean
  /** Whether a person looks on as it is written: what was written can be taken back. */
  readonly isLive: boolean
  /** Writes what was asked for; waits until there is room. */
  write(text: string): Promise<void>
  /** Says how it goes, beside what was asked for. */
  say(line: string): void
  /** The text as it is shown in that style, where styles are shown. */
  paint(style: Style, text: string): string
  /** Asks a person, and gives the answer; undefined where there is none to ask. */
  ask(question: string): Promise<string | undefined>
  /** Aborted by Ctrl-C, for what goes on until then. */
  readonly signal: AbortSignal
}

/** The terminal of this process. */
export function processTerminal(isJson: boolean): Terminal {
  const { stdout, stderr, stdin } = process
  const over = new AbortController()
  return {
    isJson,
    isLive: stdout.isTTY === true && !isJson,
    async write(text) {
      if (!stdout.write(text)) await once(stdout, 'drain')
    },
    say: line => void stderr.write(`${line}\n`),
    // Heeds NO_COLOR and FORCE_COLOR, and whether anybody looks on.
    paint: (style, text) => (isJson ? text : styleText(style, text, { stream: stdout })),
    async ask(question) {
      if (!stdin.isTTY) return undefined
      const { createInterface } = await import('node:readline/promises')
      const lines = createInterface({ input: stdin, output: stderr })
      try {
        return await lines.question(question, { signal: over.signal })
      } catch {
        return ''
      } finally {
        lines.close()
      }
    },
    get signal() {
      if (process.listenerCount('SIGINT') === 0) process.once('SIGINT', () => over.abort())
      return over.signal
    },
  }
}
