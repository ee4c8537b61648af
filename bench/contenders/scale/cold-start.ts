// The first request to a new process, for a session with a history.
import { deepStrictEqual } from 'node:assert/strict'
import type { Entry, View } from '@millrace/protocol'
import { createParser } from 'eventsource-parser'
import { type Job, job } from '../../harness/suite.ts'
import { clock, startChild } from '../log/start-child.ts'
import type { ColdServerReply, ColdServerRequest } from './cold.child.ts'
import { AGENT, copySessionFile, SESSION, wordsOf } from './turns.ts'

/** The session's view, or the first token of its next turn. */
export type FirstResponse = 'view' | 'token'

/** Requests a session of `turns` turns once. Measures wall time, or CPU time of the process. */
export async function coldStart(response: FirstResponse, unit: 'wall' | 'cpu', turns: number): Promise<Job> {
  const path = await copySessionFile(turns)
  const { request, end } = startChild<ColdServerRequest, ColdServerReply>('../scale/cold.child.ts')
  await request({ kind: 'ready' })
  return job(
    async () => {
      const from = clock()
      const { port } = await request({ kind: 'serve', path, turns })
      const url = `http://127.0.0.1:${port}/api/sessions/${SESSION}`
      const content = await (response === 'view' ? viewAt(url) : tokenAt(url))
      const wall = clock() - from
      const { cpu } = await request({ kind: 'cpu' })
      await end()
      return { content, wall, cpu }
    },
    ({ content }) => deepStrictEqual(content, response === 'view' ? expectedTexts(turns) : wordsOf(turns)[0]),
    ({ wall, cpu }) => [unit === 'wall' ? wall : cpu],
  )
}

/** Expected texts of a session of `turns` turns. */
function expectedTexts(turns: number): string[] {
  return Array.from({ length: turns }, (_, n) => [`Turn ${n}?`, wordsOf(n).join('')]).flat()
}

async function viewAt(url: string): Promise<string[]> {
  const response = await fetch(url)
  const { view } = (await response.json()) as { view: View }
  return view.messages.map(({ parts }) => parts.map(part => (part.type === 'text' ? part.text : '')).join(''))
}

async function tokenAt(url: string): Promise<string | undefined> {
  const abort = new AbortController()
  const response = await fetch(`${url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ agent: AGENT, input: 'And now?' }),
    signal: abort.signal,
  })
  let token: string | undefined
  const parser = createParser({
    onEvent({ data }) {
      const { entries = [] } = JSON.parse(data) as { entries?: Entry[] }
      for (const { chunk } of entries) if (chunk.type === 'text-delta') token ??= chunk.delta
    },
  })
  const decoder = new TextDecoder()
  for await (const bytes of response.body ?? []) {
    parser.feed(decoder.decode(bytes, { stream: true }))
    if (token !== undefined) break
  }
  abort.abort()
  return token
}
