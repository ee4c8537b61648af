// Starts a dev host as a process, and observes it over HTTP.

import { type IncomingMessage, request } from 'node:http'
import { decodeNdjsonStream, type Entry } from '@millrace/protocol'
import { onTestFinished } from 'vitest'
import { type Command, millraceCommand, workFolder } from '../millrace-command.fixture.ts'
import type { HostStatus } from './messages.ts'

export const PAGE = { 'page/index.html': '<!doctype html><title>Studio</title>' }

/** The number of words from the agent `count`. */
export const WORDS = 100

/** A file with an agent that echoes, and one that counts, with a pause of 10 ms between words. */
export const appFile = (more = '', name = 'echo'): string => `
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
  const cwd = workFolder({ 'app.ts': text, ...PAGE, ...files })
  const command = millraceCommand(cwd, ['dev', 'app.ts', '--port', '0', '--page', 'page', ...args])
  const [, url = ''] = await command.output(/^Millrace is running at (\S+)$/m)
  return { command, cwd, url }
}

/** Follows the status of a host until the test ends. */
export class HostFollower {
  readonly seen: HostStatus[] = []
  readonly #url: string
  #onStatus = () => {}

  constructor(url: string) {
    this.#url = url
    const abortController = new AbortController()
    onTestFinished(() => abortController.abort())
    void this.#follow(abortController.signal)
  }

  /** Waits until the host has this status. */
  async until(isExpected: (host: HostStatus) => boolean): Promise<HostStatus> {
    for (;;) {
      const host = this.seen.find(isExpected)
      if (host) return host
      await new Promise<void>(resolve => {
        this.#onStatus = resolve
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
            this.#onStatus()
          }
        }
      } catch {
        // The server is restarting. The loop retries.
        await new Promise(resolve => setTimeout(resolve, 20))
      }
    }
  }
}

/** Requests a fault. */
export const fault = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${url}/studio/faults`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

/** Requests a run without waiting for its result. */
export async function requestRun(url: string, sessionId: string, agent: string, input: string): Promise<void> {
  const reply = await fetch(`${url}/api/sessions/${sessionId}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ agent, input }),
  })
  await reply.body?.cancel()
  if (!reply.ok) throw new Error(`${agent} was not started: ${reply.status}`)
}

/** Follows the entries of a session until `isEnough`, reconnecting by cursor after each failure. */
export async function followEntries(
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

/** Opens a response with the given headers. Its socket shows how it ends. */
export function openResponse(url: string, headers: Record<string, string>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const clientRequest = request(url, { headers, agent: false }, resolve)
    clientRequest.on('error', reject)
    clientRequest.end()
    onTestFinished(() => void clientRequest.destroy())
  })
}
