// A dev host as people start it, and who looks at it from outside.

import { type IncomingMessage, request } from 'node:http'
import { decodeNdjsonStream, type Entry } from '@millrace/protocol'
import { onTestFinished } from 'vitest'
import { type Command, millraceCommand, place } from '../millrace-command.fixture.ts'
import type { Host } from './messages.ts'

export const PAGE = { 'page/index.html': '<!doctype html><title>Studio</title>' }

/** How many words the agent `count` says. */
export const WORDS = 100

/** A file with an agent that says what it is told, and one that counts, a word every few milliseconds. */
export const file = (more = '', name = 'echo'): string => `
import { agent, millrace, scriptedModel } from 'millrace'
const echo = agent({ name: '${name}', model: scriptedModel(({ lastText }) => ({ text: 'You said: ' + lastText })) })
const words = Array.from({ length: ${WORDS} }, (_, at) => at + 1).join(' ')
const count = agent({ name: 'count', model: scriptedModel(() => ({ text: words }), { paceMs: 10 }) })
export const app = millrace({ agents: [echo, count], ${more} })
`

export interface DevHost {
  readonly command: Command
  readonly cwd: string
  readonly url: string
}

/** Starts a dev host on a file, and waits until it is up. */
export async function devHost(
  text: string,
  args: readonly string[] = [],
  files: Record<string, string> = {},
): Promise<DevHost> {
  const cwd = place({ 'app.ts': text, ...PAGE, ...files })
  const command = millraceCommand(cwd, ['dev', 'app.ts', '--port', '0', '--page', 'page', ...args])
  const [, url = ''] = await command.said(/^Millrace is up at (\S+)$/m)
  return { command, cwd, url }
}

/** Follows how a host stands, until the test is over. */
export class HostFollower {
  readonly seen: Host[] = []
  readonly #url: string
  #wake = () => {}

  constructor(url: string) {
    this.#url = url
    const over = new AbortController()
    onTestFinished(() => over.abort())
    void this.#follow(over.signal)
  }

  /** Waits until the host stands so. */
  async until(holds: (host: Host) => boolean): Promise<Host> {
    for (;;) {
      const host = this.seen.find(holds)
      if (host) return host
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const reply = await fetch(`${this.#url}/studio/host`, { signal })
        let text = ''
        for await (const piece of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
          text += piece
          const events = text.split('\n\n')
          text = events.pop() ?? ''
          for (const event of events) {
            if (!event.startsWith('data: ')) continue
            this.seen.push(JSON.parse(event.slice('data: '.length)))
            this.#wake()
          }
        }
      } catch {
        // The server is away: it comes back.
        await new Promise(resolve => setTimeout(resolve, 20))
      }
    }
  }
}

/** Asks for a fault. */
export const fault = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/studio/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

/** Asks for a run, and does not wait for what comes of it. */
export async function ask(url: string, sessionId: string, agent: string, input: string): Promise<void> {
  const reply = await fetch(`${url}/api/sessions/${sessionId}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ agent, input }),
  })
  await reply.body?.cancel()
  if (!reply.ok) throw new Error(`${agent} was not started: ${reply.status}`)
}

/** The entries of a session, by cursor through whatever happens, until one is enough. */
export async function followed(
  url: string,
  sessionId: string,
  isEnough: (entry: Entry) => boolean,
  onEntry: (entry: Entry) => void = () => {},
): Promise<Entry[]> {
  const entries: Entry[] = []
  let cursor = '0'
  for (;;) {
    try {
      const reply = await fetch(`${url}/api/sessions/${sessionId}/stream?after=${cursor}&merge=false`, {
        headers: { accept: 'application/x-ndjson' },
      })
      for await (const frame of reply.body ? decodeNdjsonStream(reply.body) : []) {
        if (frame.type !== 'entries') continue
        cursor = frame.cursor
        for (const entry of frame.entries) {
          entries.push(entry)
          onEntry(entry)
        }
        if (frame.entries.some(isEnough)) return entries
      }
    } catch {
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
}

export const isEnd = ({ chunk }: Entry): boolean => chunk.type === 'run-finished'

/** Opens a reply with headers of one's own; what becomes of it can be seen at its socket. */
export function opened(url: string, headers: Record<string, string>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers, agent: false }, resolve)
    asked.on('error', reject)
    asked.end()
    onTestFinished(() => void asked.destroy())
  })
}
