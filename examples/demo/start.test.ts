import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { decodeNdjsonStream, type Entry, Fold } from '@millrace/protocol'
import { expect, test, vi } from 'vitest'
import { folder } from '../../scripts/folder.fixture.ts'
import { BOOTSTRAP, type Started, started } from './started-command.fixture.ts'

const start = (cwd: string, env: Record<string, string> = {}): Started =>
  started(cwd, [process.execPath, BOOTSTRAP, 'start'], { PORT: '0', DEMO_PACE: '0', ...env })

const portOf = (url: string): string => new URL(url).port

/** Starts a run, and gives the frames that it is answered with. */
async function run(url: string, sessionId: string, agent: string, input: string) {
  const response = await fetch(`${url}/api/sessions/${sessionId}/runs`, {
    method: 'POST',
    headers: { accept: 'application/x-ndjson', 'content-type': 'application/json' },
    body: JSON.stringify({ agent, input }),
  })
  if (!response.body) throw new Error('no body')
  return decodeNdjsonStream(response.body)
}

/** Somebody who follows a session by cursor, and folds what comes. */
class Reader {
  readonly #fold = new Fold()
  readonly sequences: number[] = []
  cursor = '0'

  /** Reads until this is so, or the connection is gone. */
  async follow(url: string, sessionId: string, isEnough: (entry: Entry) => boolean): Promise<void> {
    const response = await fetch(`${url}/api/sessions/${sessionId}/stream?after=${this.cursor}&merge=false`, {
      headers: { accept: 'application/x-ndjson' },
    })
    if (!response.body) throw new Error('no body')
    for await (const frame of decodeNdjsonStream(response.body)) {
      if (frame.type !== 'entries') continue
      this.#fold.apply(frame.entries, frame.sequence)
      this.sequences.push(...frame.entries.map(({ sequence }) => sequence))
      this.cursor = frame.cursor
      if (frame.entries.some(isEnough)) return
    }
    throw new Error('the connection ended before that')
  }

  /** What the agent has said. */
  get text(): string {
    const message = this.#fold.view().messages.findLast(({ role }) => role === 'assistant')
    return (message?.parts ?? []).map(part => (part.type === 'text' ? part.text : '')).join('')
  }
}

test('comes up with one line, answers, and goes when it is told to', async () => {
  const cwd = folder({})
  const demo = start(cwd)
  const url = await demo.url
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)

  let text = ''
  let end: string | undefined
  for await (const frame of await run(url, 'one', 'echo', 'The mill turns.')) {
    if (frame.type === 'end') end = frame.status
    if (frame.type !== 'entries') continue
    for (const { chunk } of frame.entries) if (chunk.type === 'text-delta') text += chunk.delta
  }
  expect([text, end]).toEqual(['The mill turns.', 'completed'])
  expect(existsSync(join(cwd, '.millrace', 'millrace.db'))).toBe(true)
  const page = await fetch(url)
  expect(page.headers.get('content-security-policy')).toContain("default-src 'self'")
  const html = await page.text()
  expect(html).toContain('<title>Millrace')
  // Nothing stands in the page itself, and nothing comes from elsewhere: its policy would not have it.
  expect(html).not.toMatch(/<script(?![^>]* src="\/)|<style|https?:/)
  for (const [, path] of html.matchAll(/(?:src|href)="(\/[^"]+)"/g)) {
    const part = await fetch(url + path)
    expect(part.status).toBe(200)
    await part.body?.cancel()
  }

  const second = await start(folder({}), { PORT: portOf(url) }).ended
  expect(second.how).toBe(1)
  expect(second.said).toContain(`Port ${portOf(url)} is in use`)
  expect(second.said).toContain(`PORT=${Number(portOf(url)) + 1} npm start`)
  expect(second.said).not.toContain('    at ')

  demo.kill('SIGTERM')
  const { how, said } = await demo.ended
  expect(how).toBe(0)
  expect(said.match(/Millrace is up/g)).toHaveLength(1)
})

test.each([
  ['killed -9', 'SIGKILL', 'SIGKILL'],
  ['told to go', 'SIGTERM', 0],
] as const)(
  'law 2: %s in the midst of a run and started again, it goes on, and who follows by cursor has every word once',
  async (_, signal, how) => {
    const cwd = folder({})
    // It would take ten seconds to the end, and is killed when the reader has the first words.
    const count = 1_000
    const first = start(cwd, { DEMO_PACE: '10' })
    const url = await first.url
    await run(url, 'one', 'long', String(count))
    const reader = new Reader()
    await reader.follow(url, 'one', () => reader.text.split(' ').length > 20)
    first.killAll(signal)
    expect((await first.ended).how).toBe(how)
    expect(reader.text).not.toContain(` ${count}`)
    const before = reader.sequences.length

    const second = start(cwd, { PORT: portOf(url) })
    expect(await second.url).toBe(url)
    await reader.follow(url, 'one', ({ chunk }) => chunk.type === 'run-finished')
    expect(reader.text).toBe(Array.from({ length: count }, (_, at) => at + 1).join(' '))
    expect(reader.sequences.length).toBeGreaterThan(before)
    expect(reader.sequences).toEqual([...new Set(reader.sequences)].sort((a, b) => a - b))
    second.kill('SIGINT')
    expect((await second.ended).how).toBe(0)
  },
)

test.each([
  ['npm', ['npm', 'start']],
  ['what npm runs', [process.execPath, BOOTSTRAP, 'start']],
])('when %s is killed -9 nothing stays behind on the port', async (_, command) => {
  const cwd = folder({ 'package.json': JSON.stringify({ scripts: { start: `node ${BOOTSTRAP} start` } }) })
  const demo = started(cwd, command, { PORT: '0' })
  const url = await demo.url
  demo.kill('SIGKILL')
  await vi.waitFor(() => expect(fetch(`${url}/api/health`)).rejects.toThrow(), { timeout: 60_000, interval: 50 })
})
