// The output of a command: results on standard output, messages on standard error. All output goes through `escapeControl`,
// which does not change the meaning of JSON.

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { styleText } from 'node:util'
import { escapeControl } from './escape-control.ts'

/** A style of `styleText`. */
export type Style = Parameters<typeof styleText>[0]

export interface Terminal {
  /** Whether values are written as JSON. */
  readonly isJson: boolean
  /** Whether the output is a live terminal, in which text can be erased. */
  readonly isLive: boolean
  /** Writes a result, with backpressure. Escapes all control characters except the styles of `paint`. */
  write(text: string): Promise<void>
  /** Writes control sequences. Never pass foreign text. */
  control(sequence: string): Promise<void>
  /** Writes a message to standard error. */
  say(line: string): void
  /** Styles a text, if styles are enabled. */
  paint(style: Style, text: string): string
  /** Asks the user and returns the answer. Undefined without a terminal. */
  ask(question: string): Promise<string | undefined>
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal
}

const ESCAPE = '\u001b'
/** A random placeholder for our own escape sequences, which foreign text cannot contain. */
const STYLE_ESCAPE = `<${randomUUID()}>`

/** Escapes control characters, except those of the styles that `paint` added. */
export const escapeExceptStyles = (text: string): string => escapeControl(text).replaceAll(STYLE_ESCAPE, ESCAPE)

/** Styles text for `escapeExceptStyles`. */
export const styled = (style: Style, text: string, stream: NodeJS.WritableStream): string =>
  styleText(style, escapeControl(text), { stream }).replaceAll(ESCAPE, STYLE_ESCAPE)

/** The terminal of this process. */
export function processTerminal(isJson: boolean): Terminal {
  const { stdout, stderr, stdin } = process
  const abortController = new AbortController()
  const writeRaw = async (text: string) => {
    if (!stdout.write(text)) await once(stdout, 'drain')
  }
  return {
    isJson,
    isLive: stdout.isTTY === true && !isJson,
    write: text => writeRaw(escapeExceptStyles(text)),
    control: writeRaw,
    say: line => void stderr.write(`${escapeControl(line)}\n`),
    // Respects NO_COLOR, FORCE_COLOR and whether the stream is a terminal.
    paint: (style, text) => (isJson ? text : styled(style, text, stdout)),
    async ask(question) {
      if (!stdin.isTTY) return undefined
      const { createInterface } = await import('node:readline/promises')
      const lines = createInterface({ input: stdin, output: stderr })
      try {
        return await lines.question(escapeControl(question), { signal: abortController.signal })
      } catch {
        return ''
      } finally {
        lines.close()
      }
    },
    get signal() {
      if (process.listenerCount('SIGINT') === 0) process.once('SIGINT', () => abortController.abort())
      return abortController.signal
    },
  }
}
