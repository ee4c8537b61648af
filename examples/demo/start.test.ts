import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { decodeNdjsonStream, type Entry, Fold } from '@millrace/protocol'
import { expect, test, vi } from 'vitest'
import { folder } from '../../scripts/folder.fixture.ts'
import { BOOTSTRAP, type Started, started } from './started-command.fixture.ts'

const start = (cwd: string, env: Record<string, string> = {}): Started =>
  started(cwd, [process.execPath, BOOTSTRAP, 'start'], { PORT: '0', DEMO_PACE: '0', ...env })

const portOf = (url: string): string => new URL(url).port

/** Starts a run and returns the frames of the response. */
async function run(url: string, sessionId: string, agent: string, input: string) {
  const response = await fetch(`${url}/api/sessions/${sessionId}/runs`, {
    method: 'POST',
    headers: { accept: 'application/x-ndjson', 'content-type': 'application/json' },
    body: JSON.stringify({ agent, input }),
  })
  if (!response.body) throw new Error('no body')
  return decodeNdjsonStream(response.body)
}

/** Follows a session by cursor and folds its entries. */
class Reader {
  readonly #fold = new Fold()
  readonly sequences: number[] = []
  cursor = '0'

  /** Reads until an entry matches. @throws if the connection ends before */
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
    throw new Error('The connection ended before a matching entry.')
  }

  /** The text of the agent. */
  get text(): string {
    const message = this.#fold.view().messages.findLast(({ role }) => role === 'assistant')
    return (message?.parts ?? []).map(part => (part.type === 'text' ? part.text : '')).join('')
  }
}

test('prints its address and what to try, answers, and exits on SIGTERM', async () => {
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
  // No inline scripts or styles, and nothing from other hosts: the content security policy forbids both.
  expect(html).not.toMatch(/<script(?![^>]* src="\/)|<style|https?:/)
  for (const [, path] of html.matchAll(/(?:src|href)="(\/[^"]+)"/g)) {
    const part = await fetch(url + path)
    expect(part.status).toBe(200)
    await part.body?.cancel()
  }

  const second = await start(folder({}), { PORT: portOf(url) }).ended
  expect(second.exitStatus).toBe(1)
  expect(second.output).toContain(`Port ${portOf(url)} is in use`)
  expect(second.output).toContain(`PORT=${Number(portOf(url)) + 1} npm start`)
  expect(second.output).not.toContain('    at ')

  demo.kill('SIGTERM')
  const { exitStatus, output } = await demo.ended
  expect(exitStatus).toBe(0)
  expect(output.match(/Millrace is running/g)).toHaveLength(1)
  expect(output).toMatch(
    /Millrace is running at \S+\n\nOpen this address in your browser\. What to try first:\n {2}1\. /,
  )
})

test.each([
  ['killed -9', 'SIGKILL', 'SIGKILL'],
  ['stopped', 'SIGTERM', 0],
] as const)(
  'law 2: %s during a run and restarted, it continues, and a reader by cursor gets every word once',
  async (_, signal, exitStatus) => {
    const cwd = folder({})
    // The run takes ten seconds, and is killed after the first words.
    const count = 1_000
    const first = start(cwd, { DEMO_PACE: '10' })
    const url = await first.url
    await run(url, 'one', 'long', String(count))
    const reader = new Reader()
    await reader.follow(url, 'one', () => reader.text.split(' ').length > 20)
    first.killAll(signal)
    expect((await first.ended).exitStatus).toBe(exitStatus)
    expect(reader.text).not.toContain(` ${count}`)
    const before = reader.sequences.length

    const second = start(cwd, { PORT: portOf(url) })
    expect(await second.url).toBe(url)
    await reader.follow(url, 'one', ({ chunk }) => chunk.type === 'run-finished')
    expect(reader.text).toBe(Array.from({ length: count }, (_, at) => at + 1).join(' '))
    expect(reader.sequences.length).toBeGreaterThan(before)
    expect(reader.sequences).toEqual([...new Set(reader.sequences)].sort((a, b) => a - b))
    second.kill('SIGINT')
    expect((await second.ended).exitStatus).toBe(0)
  },
)

test.each([
  ['npm', ['npm', 'start']],
  ['the script of npm', [process.execPath, BOOTSTRAP, 'start']],
])('frees the port when %s is killed with SIGKILL', async (_, command) => {
  const cwd = folder({ 'package.json': JSON.stringify({ scripts: { start: `node ${BOOTSTRAP} start` } }) })
  const demo = started(cwd, command, { PORT: '0' })
  const url = await demo.url
  demo.kill('SIGKILL')
  await vi.waitFor(() => expect(fetch(`${url}/api/health`)).rejects.toThrow(), { timeout: 60_000, interval: 50 })
})
