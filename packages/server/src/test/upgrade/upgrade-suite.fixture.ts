// A rolling deploy: a process of an earlier release serves a store, a process of this one joins it, both write, the
// earlier one is killed, and nothing is lost.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { View } from '@millrace/protocol'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Child, startChildProcess } from '../../../../../scripts/faults/process.ts'

/** A store that both releases open. */
export interface UpgradedStore {
  /** Starts an empty store. */
  start(): Promise<{ readonly url: string; readonly stop: () => Promise<void> }>
  /** Gives a store the version of a later release. Undefined for a store without a version. */
  readonly setLaterVersion?: (url: string) => Promise<void>
}

/** The event of a server that listens. */
interface Started {
  readonly port: number
  readonly openPort: number
  /** What it says and logged if it cannot use the store. */
  readonly failure?: string
}

interface Reply {
  readonly status: number
  readonly text: string
}

/** Sends a request as a user; without one, to the server that has no `authorize`. */
type Send = (
  path: string,
  body?: unknown,
  how?: { user?: string | null; method?: string; accept?: string },
) => Promise<Reply>

interface Server {
  readonly child: Child
  readonly send: Send
  /** Base address and headers of a user's requests. */
  address(user: string | null): { readonly base: string; readonly headers: Readonly<Record<string, string>> }
}

const PROGRAM = join(import.meta.dirname, 'upgrade-server.fixture.ts')
const OLD_SERVER = join(import.meta.dirname, 'old-server.mjs.gz')
/** `openStore` loads the drivers of Redis and Postgres from here. */
const DRIVERS = join(import.meta.dirname, '../../../../log/node_modules')

let folder = ''

/** Starts a server of a release. @throws with what it logged if it refuses the store */
async function start(release: 'old' | 'new', url: string): Promise<Server> {
  const file = release === 'old' ? join(folder, 'old-server.mjs') : PROGRAM
  const paths = [DRIVERS, process.env['NODE_PATH'] ?? ''].join(delimiter)
  const child = startChildProcess(file, [url, release], { NODE_PATH: paths })
  onTestFinished(() => child.kill9())
  const { port, openPort, failure } = await child.event<Started>('started')
  if (failure !== undefined) throw new Error(failure)
  const address = (user: string | null) =>
    user === null
      ? { base: `http://127.0.0.1:${openPort}/api`, headers: {} }
      : { base: `http://127.0.0.1:${port}/api`, headers: { 'x-user': user } }
  const send: Send = async (path, body, { user = 'ann', method, accept = 'application/json' } = {}) => {
    const { base, headers } = address(user)
    const isText = typeof body === 'string'
    const response = await fetch(`${base}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        ...headers,
        accept,
        ...(body !== undefined && { 'content-type': isText ? 'text/plain' : 'application/json' }),
      },
      ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
    })
    return { status: response.status, text: await response.text() }
  }
  return { child, send, address }
}

/** Runs an agent to its end or pause. */
async function run(server: Server, sessionId: string, body: object, user: string | null = 'ann'): Promise<void> {
  const { status, text } = await server.send(`/sessions/${sessionId}/runs`, body, { user, accept: NDJSON })
  expect([sessionId, status]).toEqual([sessionId, 200])
  expect(text).toContain('"type":"end"')
}

const NDJSON = 'application/x-ndjson'

/** The messages of a session, as text. */
async function texts(server: Server, sessionId: string, user: string | null = 'ann'): Promise<string[] | number> {
  const { status, text } = await server.send(`/sessions/${sessionId}`, undefined, { user })
  if (status !== 200) return status
  const { view } = JSON.parse(text) as { view: View }
  return view.messages.map(({ parts }) => parts.map(part => ('text' in part ? part.text : '')).join(''))
}

/** The sessions of a user as a server lists and shows them. */
async function everything(server: Server, user: string | null, except?: string): Promise<readonly unknown[]> {
  const list = JSON.parse((await server.send('/sessions', undefined, { user })).text)
  const found: unknown[] = []
  for (const summary of list.sessions as { readonly sessionId: string }[]) {
    if (summary.sessionId === except) continue
    const { text } = await server.send(`/sessions/${summary.sessionId}`, undefined, { user })
    found.push({ summary, ...JSON.parse(text) })
  }
  return found
}

/** Reads a stream until its text matches. */
async function readUntil(server: Server, path: string, pattern: RegExp): Promise<string> {
  const { base, headers } = server.address('ann')
  const response = await fetch(`${base}${path}`, { headers: { ...headers, accept: NDJSON } })
  let text = ''
  for await (const piece of response.body ?? []) {
    text += new TextDecoder().decode(piece as Uint8Array)
    if (pattern.test(text)) break
  }
  expect(text).toMatch(pattern)
  return text
}

const APPROVAL = { kind: 'approval', id: 'approve::call-send', approved: true }

/** The tests of a rolling deploy on a store. */
export function upgradeSuite({ start: startStore, setLaterVersion }: UpgradedStore): void {
  let url = ''
  let stop = async () => {}

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-upgrade-'))
    writeFileSync(join(folder, 'old-server.mjs'), gunzipSync(readFileSync(OLD_SERVER)))
    ;({ url, stop } = await startStore())
  })
  afterAll(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })

  test('a process of an earlier release and one of this release serve the same store, and this one takes over', async () => {
    const old = await start('old', url)
    await run(old, 'mine', { agent: 'echo', input: 'Hello' })
    await run(old, 'waiting', { agent: 'operator', input: 'Do it', runId: 'approve' })
    await run(old, 'large', { agent: 'large', input: 'Dump' })
    await run(old, 'asking', { workflow: 'question', input: 'Knock' })
    await run(old, 'theirs', { agent: 'echo', input: 'I am bob' }, 'bob')
    await run(old, 'anyones', { agent: 'echo', input: 'I am anyone' }, null)
    await run(old, 'anyones-waiting', { agent: 'operator', input: 'Do it', runId: 'approve' }, null)
    const { hash } = JSON.parse((await old.send('/sessions/mine/uploads', 'some bytes')).text) as { hash: string }
    const { sessionId: fork } = JSON.parse((await old.send('/sessions/mine/fork', {})).text) as { sessionId: string }
    const named = await old.send('/sessions/mine', { title: 'A title' }, { method: 'PATCH' })
    expect(named.status).toBe(200)
    const blob = /"hash":"([^"]+)"/.exec((await old.send('/sessions/large')).text)?.[1] ?? ''
    const files = [`/sessions/mine/uploads/${hash}`, `/sessions/large/blobs/${blob}`]
    const contents = await Promise.all(files.map(file => old.send(file)))
    expect(contents.map(({ status }) => status)).toEqual([200, 200])

    // The same answers from both.
    const current = await start('new', url)
    for (const user of ['ann', 'bob', null])
      expect(await everything(current, user)).toEqual(await everything(old, user))
    expect(await Promise.all(files.map(file => current.send(file)))).toEqual(contents)

    // An open run of the old process, which the other one leaves alone.
    const opened = await old.send('/sessions/open/runs', { agent: 'slow', input: 'three', runId: 'held' })
    expect(opened.status).toBe(202)
    await readUntil(current, '/sessions/open/stream', /"one/)

    // Both write, to the same sessions and to new ones.
    await run(current, 'mine', { agent: 'echo', input: 'To the new one' })
    await run(old, 'mine', { agent: 'echo', input: 'To the old one' })
    await run(current, 'made-by-new', { agent: 'echo', input: 'Hello' })
    await run(old, 'made-by-old', { agent: 'echo', input: 'Hello' })
    await run(old, 'made-by-new', { agent: 'echo', input: 'Again' })
    await run(current, 'made-by-old', { agent: 'echo', input: 'Again' })
    await run(current, 'anyones', { agent: 'echo', input: 'Again' }, null)
    const said = [
      'Hello',
      'You said: Hello',
      'To the new one',
      'You said: To the new one',
      'To the old one',
      'You said: To the old one',
    ]
    for (const server of [old, current]) {
      expect(await texts(server, 'mine')).toEqual(said)
      for (const id of ['made-by-new', 'made-by-old'])
        expect(await texts(server, id)).toEqual(['Hello', 'You said: Hello', 'Again', 'You said: Again'])
      expect(await texts(server, fork)).toEqual(['Hello', 'You said: Hello'])
    }

    // Only the new one keeps the ids of owners apart. The old one does not find the second session.
    await run(current, 'mine', { agent: 'echo', input: 'I am bob' }, 'bob')
    expect(await texts(current, 'mine', 'bob')).toEqual(['I am bob', 'You said: I am bob'])
    expect(await texts(old, 'mine', 'bob')).toBe(404)
    for (const server of [old, current]) expect(await texts(server, 'mine')).toEqual(said)

    // A deletion by either of them.
    for (const [deleting, other] of [
      [old, current],
      [current, old],
    ] as const) {
      await run(deleting, 'spare', { agent: 'echo', input: 'Soon gone' })
      expect((await deleting.send('/sessions/spare', undefined, { method: 'DELETE' })).status).toBe(204)
      expect(await texts(other, 'spare')).toBe(404)
    }

    // The new process takes over, and the approvals can be answered.
    const before = { ann: await everything(current, 'ann', 'open'), bob: await everything(current, 'bob') }
    expect([before.ann.length, before.bob.length]).toEqual([7, 2])
    await old.child.kill9()
    const taken = await readUntil(current, '/sessions/open/stream?run=held', /"type":"end"/)
    expect(taken).toMatch(/"type":"end","status":"completed"/)
    expect(await texts(current, 'open')).toEqual(['three', 'one two three'])
    expect(await everything(current, 'ann', 'open')).toEqual(before.ann)
    expect(await everything(current, 'bob')).toEqual(before.bob)
    for (const [id, user] of [
      ['waiting', 'ann'],
      ['anyones-waiting', null],
    ] as const) {
      expect((await current.send(`/sessions/${id}/answers`, APPROVAL, { user })).status).toBe(200)
      const { text } = await current.send(`/sessions/${id}/stream?run=approve`, undefined, { user, accept: NDJSON })
      expect(text).toMatch(/"type":"end","status":"completed"/)
      expect((await texts(current, id, user)).toString()).toContain('Sent.')
    }
    expect(await Promise.all(files.map(file => current.send(file)))).toEqual(contents)
    await run(current, 'mine', { agent: 'echo', input: 'Alone' })
    expect(await texts(current, 'mine')).toEqual([...said, 'Alone', 'You said: Alone'])

    // A rollback: the earlier release opens the store again.
    const again = await start('old', url)
    expect(await texts(again, 'mine')).toEqual([...said, 'Alone', 'You said: Alone'])
    await run(again, 'mine', { agent: 'echo', input: 'Back' })
    expect(await texts(current, 'mine')).toEqual([...said, 'Alone', 'You said: Alone', 'Back', 'You said: Back'])
  })

  if (setLaterVersion === undefined) return
  test('refuses the store of a later release with a sentence', async () => {
    await setLaterVersion(url)
    await expect(start('new', url)).rejects.toThrow(/expected .*version 1 or older, found .*99: upgrade @millrace\/log/)
  })
}
