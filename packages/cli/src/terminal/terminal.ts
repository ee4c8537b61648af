// Where a command writes to: what programs read, and what people do. All of it goes through `escapeControl`: JSON
// means the same afterwards.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { styleText } from 'node:util'
import { escapeControl } from './escape-control.ts'

/** A style of `styleText`. */
export type Style = Parameters<typeof styleText>[0]

export interface Terminal {
  /** Whether values are written as JSON. */
  readonly isJson: boolean
  /** Whether a person looks on as it is written: what was written can be taken back. */
  readonly isLive: boolean
  /** Writes what was asked for; waits until there is room. Nothing in it steers the terminal but what `paint` has put there. */
  write(text: string): Promise<void>
  /** Steers the terminal: by words of ours alone. */
  steer(sequence: string): Promise<void>
  /** Says how it goes, beside what was asked for. */
  say(line: string): void
  /** The text as it is shown in that style, where styles are shown. */
  paint(style: Style, text: string): string
  /** Asks a person, and gives the answer; undefined where there is none to ask. */
  ask(question: string): Promise<string | undefined>
  /** Aborted by Ctrl-C, for what goes on until then. */
  readonly signal: AbortSignal
}

const ESCAPE = '\u001b'
/** Stands for an escape of ours until it is written: nobody else knows it, so that nobody else's text has it. */
const OURS = `<${randomUUID()}>`

/** Escapes control characters, except those of the styles that `paint` added. */
export const escapeExceptStyles = (text: string): string => escapeControl(text).replaceAll(OURS, ESCAPE)

/** Styles text for `escapeExceptStyles`. */
export const styled = (style: Style, text: string, stream: NodeJS.WritableStream): string =>
  styleText(style, escapeControl(text), { stream }).replaceAll(ESCAPE, OURS)

/** The terminal of this process. */
export function processTerminal(isJson: boolean): Terminal {
  const { stdout, stderr, stdin } = process
  const over = new AbortController()
  const put = async (text: string) => {
    if (!stdout.write(text)) await once(stdout, 'drain')
  }
  return {
    isJson,
    isLive: stdout.isTTY === true && !isJson,
    write: text => put(escapeExceptStyles(text)),
    steer: put,
    say: line => void stderr.write(`${escapeControl(line)}\n`),
    // Heeds NO_COLOR and FORCE_COLOR, and whether anybody looks on.
    paint: (style, text) => (isJson ? text : styled(style, text, stdout)),
    async ask(question) {
      if (!stdin.isTTY) return undefined
      const { createInterface } = await import('node:readline/promises')
      const lines = createInterface({ input: stdin, output: stderr })
      try {
        return await lines.question(escapeControl(question), { signal: over.signal })
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
