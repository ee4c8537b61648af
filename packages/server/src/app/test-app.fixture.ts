import { memoryStore } from '@millrace/log'
import { agent, scriptedModel } from '@millrace/runtime'
import { onTestFinished } from 'vitest'
import type { Listening } from '../http/listen.ts'
import { type App, millrace } from './app.ts'
import type { MillraceOptions } from './options.ts'

/** An agent that repeats its input. */
export const echo = agent({ name: 'echo', model: scriptedModel(({ lastText }) => ({ text: `You said: ${lastText}` })) })

/** The messages of a logger. */
export interface Logged {
  readonly level: 'warn' | 'error'
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** A server with one agent on its own store, closed after the test, and its log messages. */
export function testApp(options: MillraceOptions = {}): { readonly app: App; readonly logged: Logged[] } {
  const logged: Logged[] = []
  const record = (level: Logged['level']) => (message: string, fields: Logged['fields']) =>
    void logged.push({ level, message, fields })
  const logger = { warn: record('warn'), error: record('error') }
  const app = millrace({ store: memoryStore(), agents: [echo], engine: { pollMs: 20 }, logger, ...options })
  onTestFinished(() => app.close())
  return { app, logged }
}

/** Listens on a free port until the test ends. */
export async function listen(app: App): Promise<Listening> {
  const listening = await app.listen({ port: 0 })
  onTestFinished(() => listening.close())
  return listening
}

export const ORIGIN = 'http://localhost:4400'

/** A request to a path, with a JSON body if given. */
export function request(path: string, body?: unknown, init: RequestInit = {}): Request {
  const headers = new Headers(init.headers)
  if (body !== undefined) headers.set('content-type', 'application/json')
  return new Request(`${ORIGIN}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...init,
    headers,
  })
}

/** The text of a run's answer, from the frames of its reply. */
export function wordsIn(frames: string): string {
  const lines = frames.split('\n').flatMap(line => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []))
  const chunks = lines.flatMap(({ entries = [] }) => entries.map(({ chunk }: { chunk: { delta?: string } }) => chunk))
  return chunks.map(({ delta = '' }: { delta?: string }) => delta).join('')
}

/** Runs the echo agent through any fetch function. Returns its text and the frames. */
export async function runEcho(
  fetch: (path: string, init: RequestInit) => Promise<Response>,
  words: string,
  path = '/api/sessions/s/runs',
): Promise<{ readonly words: string; readonly frames: string; readonly status: number }> {
  const body = JSON.stringify({ agent: 'echo', input: words })
  const response = await fetch(path, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  const frames = await response.text()
  return { words: wordsIn(frames), frames, status: response.status }
}
