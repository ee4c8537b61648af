// Tests of a page with our hooks over a server of another system. All servers react to the same messages.

import type { ForeignConnection } from '@millrace/dialects/foreign-server'
import { expect, test } from 'vitest'
import type { Gate } from '../backend.fixture.ts'
import type { Listening } from './listen.fixture.ts'
import { Page } from './peer-page.fixture.tsx'

/** A server that reacts to `weigh`, `sell` (with approval), `locate` (client tool), `break` and `hold` (waits at the gate). It echoes other messages. */
interface PeerServer extends Listening {
  readonly server: {
    readonly gate: Gate
    /** Number of model calls. */
    readonly calls: number
    /** Resolved when the client has disconnected. */
    readonly disconnected: { readonly promise: Promise<void> }
  }
}

interface SuiteOptions {
  readonly open: () => Promise<PeerServer>
  readonly connect: (options: { readonly api: string; readonly fetch?: typeof fetch }) => ForeignConnection
}

const ECHO = (text: string) => `assistant sent: (What did they say?)You said: ${text}`

export function peerSuite({ open, connect }: SuiteOptions): void {
  const opened = async (props: object = {}) => {
    const stage = await open()
    return { ...stage, page: new Page({ connection: connect({ api: stage.url }), ...props }) }
  }

  test('receives text and reasoning, a second turn, regenerate and edit', async () => {
    const { server, page } = await opened()
    const { messageId } = await page.chat.sendMessage('hi')
    await page.shows('ready', 'user sent: hi', ECHO('hi'))
    await page.chat.sendMessage('again')
    await page.shows('ready', 'user sent: hi', ECHO('hi'), 'user sent: again', ECHO('again'))
    await page.chat.regenerate()
    await expect.poll(() => server.calls).toBe(3)
    await page.shows('ready', 'user sent: hi', ECHO('hi'), 'user sent: again', ECHO('again'))
    await page.chat.edit(messageId, 'HI')
    await page.shows('ready', 'user sent: HI', ECHO('HI'))
    expect(server.calls).toBe(4)
  })

  test('receives a server tool, its step and the next', async () => {
    const { page } = await opened()
    await page.chat.sendMessage('weigh rye')
    const call = '[weigh output-available {"what":"rye"} {"what":"rye","kilos":4}]'
    await page.shows('ready', 'user sent: weigh rye', `assistant sent: I weigh. ${call}Then: yes.`)
  })

  test.each([true, false])('an approval: %s, and another in the next turn', async approved => {
    const { page } = await opened()
    for (const _ of [1, 2]) {
      await page.chat.sendMessage('sell flour')
      await expect.poll(() => page.status).toBe('paused')
      const [pending] = page.pending.pendings
      expect(pending).toMatchObject({ kind: 'approval', part: { toolName: 'sell', input: { what: 'flour' } } })
      await page.pending.answer({ kind: 'approval', id: pending?.id ?? '', approved })
      await expect.poll(() => page.status).toBe('ready')
    }
    const line = approved
      ? 'assistant sent: [sell output-available {"what":"flour"} {"sold":"flour"}]Then: yes.'
      : 'assistant sent: [sell output-denied {"what":"flour"} undefined]Then: no.'
    await page.shows('ready', 'user sent: sell flour', line, 'user sent: sell flour', line)
  })

  test('the page runs a client tool in each turn', async () => {
    const { page } = await opened({ tools: { locate: () => ({ city: 'Delft' }) } })
    const line = 'assistant sent: [locate output-available {"precise":true} {"city":"Delft"}]Then: yes.'
    await page.chat.sendMessage('locate me')
    await page.shows('ready', 'user sent: locate me', line)
    await page.chat.sendMessage('locate me')
    await page.shows('ready', 'user sent: locate me', line, 'user sent: locate me', line)
  })

  test('keeps the text of an answer that fails in the middle', async () => {
    const { page } = await opened()
    await page.chat.sendMessage('break')
    await page.shows('error', 'user sent: break', 'assistant error: It began well')
    expect(page.chat.error).toMatchObject({ message: 'no more', source: 'stream' })
  })

  test('stop keeps the text, reaches the server, and allows the next turn', async () => {
    const { server, page } = await opened()
    await page.chat.sendMessage('hold')
    await page.shows('streaming', 'user sent: hold', 'assistant streaming: one two ')
    await page.chat.stop()
    await page.shows('ready', 'user sent: hold', 'assistant cancelled: one two ')
    await server.disconnected.promise
    await page.chat.sendMessage('hi')
    await page.shows('ready', 'user sent: hold', 'assistant cancelled: one two ', 'user sent: hi', ECHO('hi'))
  })

  test('queues a message that is sent during an answer', async () => {
    const { server, page } = await opened()
    await page.chat.sendMessage('hold')
    await page.shows('streaming', 'user sent: hold', 'assistant streaming: one two ')
    await page.chat.sendMessage('hi')
    server.gate.open()
    await page.shows('ready', 'user sent: hold', 'assistant sent: one two three', 'user sent: hi', ECHO('hi'))
  })

  test('law 7: a cut connection fails the run, which can be retried', async () => {
    const { cut, server, page } = await opened()
    await page.chat.sendMessage('hold')
    await page.shows('streaming', 'user sent: hold', 'assistant streaming: one two ')
    cut()
    await page.shows('error', 'user sent: hold', 'assistant error: one two ')
    expect(page.chat.error).toMatchObject({ code: 'connection_lost', retryable: true })
    server.gate.open()
    await page.chat.retry()
    await page.shows('ready', 'user sent: hold', 'assistant sent: one two three')
  })

  test('an error response is the error of the run', async () => {
    const refuse = async () => new Response('too many', { status: 429 })
    const page = new Page({ connection: connect({ api: 'http://localhost/', fetch: refuse }) })
    await page.chat.sendMessage('hi')
    await page.shows('error', 'user sent: hi')
    expect(page.chat.error).toMatchObject({ code: 'http_429', message: 'too many', retryable: true })
  })
}

/** A pause with an approval, a client tool, and a server tool that has not run yet. */
export function mixedPauseSuite({ open, connect }: SuiteOptions): void {
  test('at a pause only the named calls can be answered, not a server tool', async () => {
    const { url } = await open()
    const page = new Page({ connection: connect({ api: url }), tools: { locate: () => ({ city: 'Delft' }) } })
    await page.chat.sendMessage('all')
    await expect.poll(() => page.status).toBe('paused')
    const named = () =>
      page.pending.pendings.map(pending => `${pending.kind} ${'part' in pending ? pending.part.toolName : ''}`)
    await expect.poll(named).toEqual(['approval sell'])
    const calls = page.chat.messages.flatMap(({ parts }) => parts.filter(part => 'toolCallId' in part))
    const weighing = calls.find(part => part.toolName === 'weigh')
    expect(weighing).toMatchObject({ state: 'input-available' })
    const forged = page.pending.answer({ kind: 'tool-result', id: weighing?.toolCallId ?? '', output: { kilos: 9 } })
    await expect(forged).rejects.toMatchObject({ code: 'answer_unknown' })
    const [approval] = page.pending.pendings
    await page.pending.answer({ kind: 'approval', id: approval?.id ?? '', approved: true })
    const sold = '[sell output-available {"what":"flour"} {"sold":"flour"}]'
    const located = '[locate output-available {"precise":true} {"city":"Delft"}]'
    const weighed = '[weigh output-available {"what":"rye"} {"what":"rye","kilos":4}]'
    await expect.poll(() => page.lines.at(-1)).toBe(`assistant sent: ${sold}${located}${weighed}Then: yes.`)
  })
}
