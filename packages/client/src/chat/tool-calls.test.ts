import type { Json, Pending, ToolPart } from '@millrace/protocol'
import { expect, test, vi } from 'vitest'
import { type ChatError, RequestError } from '../error/chat-error.ts'
import type { ClientToolContext } from '../types/index.ts'
import { finished, Mill, until } from './chat-mill.fixture.ts'
import { ToolCalls, type ToolCallsApi } from './tool-calls.ts'

const part = { type: 'tool', toolCallId: 'c', toolName: 'locate', input: {} } as unknown as ToolPart
const waiting = [{ kind: 'client-tool', id: 'c', part, messageId: 'm' }] as unknown as Pending[]

type Told = { readonly kind: string; readonly output?: unknown; readonly error?: string }

/** A server that says to each answer what a test lets it. */
class Server implements ToolCallsApi {
  readonly told: Told[] = []
  readonly errors: unknown[] = []
  answers: (told: Told) => unknown = () => ({})
  readonly calls = new ToolCalls(this, error => void this.errors.push(error))

  async answer(answer: object): Promise<unknown> {
    const told = answer as Told
    this.told.push(told)
    return this.answers(told)
  }

  async inputOf(): Promise<Json> {
    return {}
  }

  get results(): Told[] {
    return this.told.filter(({ kind }) => kind === 'tool-result')
  }
}

const refuse = (status: number) => {
  throw new RequestError({ code: `http_${status}`, message: 'No.' }, status)
}

/** Lets everything that can go on do so. */
const settle = () => new Promise(resolve => setTimeout(resolve))

test('a result that is refused is told once, and the tool is not run again', async () => {
  const server = new Server()
  const locate = vi.fn(() => 'Ulm')
  server.calls.tools = { locate }
  server.answers = ({ kind }) => kind === 'tool-result' && refuse(403)
  for (let i = 0; i < 5; i++) {
    server.calls.look(waiting)
    await settle()
  }
  expect(locate).toHaveBeenCalledTimes(1)
  expect(server.results).toMatchObject([{ output: 'Ulm' }, { error: 'No.' }])
  expect(server.errors).toMatchObject([{ code: 'http_403' }])
  // Where the same name waits anew, it is another call.
  server.calls.look([])
  server.calls.look(waiting)
  await settle()
  expect(locate).toHaveBeenCalledTimes(2)
  server.calls.close()
})

test('a claim that is refused for good is told once; that somebody was first is no error', async () => {
  for (const [status, errors] of [
    [403, 1],
    [409, 0],
  ] as const) {
    const server = new Server()
    const locate = vi.fn()
    server.calls.tools = { locate }
    server.answers = () => refuse(status)
    server.calls.look(waiting)
    await settle()
    server.calls.look(waiting)
    await settle()
    expect(server.told).toHaveLength(1)
    expect(server.errors).toHaveLength(errors)
    expect(locate).not.toHaveBeenCalled()
  }
})

test('an output that is not taken is an error for the model, and none of the chat', async () => {
  const server = new Server()
  server.calls.tools = { locate: () => 'Atlantis' }
  server.answers = told => 'output' in told && refuse(400)
  server.calls.look(waiting)
  await settle()
  expect(server.results).toMatchObject([{ output: 'Atlantis' }, { error: 'No.' }])
  expect(server.errors).toEqual([])
})

test('a tool that was left and runs on is not run again when its tab comes back', async () => {
  const server = new Server()
  const end = Promise.withResolvers<string>()
  const locate = vi.fn((_: unknown, __: ClientToolContext) => end.promise)
  server.calls.tools = { locate }
  server.calls.look(waiting)
  await settle()
  server.calls.close()
  expect(locate.mock.calls[0]?.[1].signal.aborted).toBe(true)
  server.calls.look(waiting)
  await settle()
  end.resolve('Ulm')
  await settle()
  expect(locate).toHaveBeenCalledTimes(1)
  expect(server.results).toMatchObject([{ output: 'Ulm' }])
})

test('a tool that stopped when it was left is run anew when its tab comes back', async () => {
  const server = new Server()
  const ends: ((output: string) => void)[] = []
  const locate = (_: unknown, { signal }: ClientToolContext) =>
    new Promise((resolve, reject) => {
      ends.push(resolve)
      signal.addEventListener('abort', () => reject(new Error('left')))
    })
  server.calls.tools = { locate }
  server.calls.look(waiting)
  await settle()
  server.calls.close()
  server.calls.look(waiting)
  await settle()
  ends[1]?.('Ulm')
  await settle()
  expect(ends).toHaveLength(2)
  expect(server.results).toMatchObject([{ output: 'Ulm' }])
})

test('a tool that is taken away before it runs is left to others, until it is there again', async () => {
  const server = new Server()
  const locate = vi.fn(() => 'Ulm')
  server.calls.tools = { locate }
  server.calls.look(waiting)
  server.calls.tools = {}
  await settle()
  expect(server.results).toEqual([])
  expect(server.errors).toEqual([])
  server.calls.tools = { locate }
  server.calls.look(waiting)
  await settle()
  expect(server.results).toMatchObject([{ output: 'Ulm' }])
})

test('a server that refuses results: one run, and an error of the chat', async () => {
  const mill = new Mill()
  const locate = vi.fn(() => 'Ulm')
  const errors: ChatError[] = []
  const chat = mill.chat({ tools: { locate }, onError: error => void errors.push(error) })
  mill.meddle = (what, body) =>
    what === 'POST /answers' && (body as Told).kind === 'tool-result' ? new Response('', { status: 403 }) : undefined
  await chat.sendMessage('Where')
  await until(chat, () => chat.state.error !== undefined)
  expect(errors).toMatchObject([{ code: 'http_403', source: 'answer', details: { toolCallId: expect.any(String) } }])
  // Who claims again wakes who looks: nothing comes of it.
  const id = chat.store.pendings[0]?.id as string
  const url = `http://localhost:4400/api/sessions/${chat.state.sessionId}/answers`
  const body = JSON.stringify({
    kind: 'claim',
    id,
    client: (mill.bodies('POST /answers')[0] as { client: string }).client,
  })
  const seen = new Promise<void>(resolve => void chat.store.subscribe(['any'], resolve))
  await mill.app.fetch(new Request(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body }))
  await seen
  await settle()
  expect(locate).toHaveBeenCalledTimes(1)
  await chat.stop()
})

test.each([
  ['is no JSON', () => 10n, /BigInt/],
  ['fails with many words', () => Promise.reject(new Error('x'.repeat(9_000))), /^x{8192}$/],
])('a tool whose end %s: the model is told', async (_, locate, words) => {
  const mill = new Mill()
  const errors: ChatError[] = []
  const chat = mill.chat({ tools: { locate }, onError: error => void errors.push(error) })
  const end = finished(chat)
  await chat.sendMessage('Where')
  await end
  const call = chat.store.messages[1]?.parts.find(({ type }) => type === 'tool')
  expect(call).toMatchObject({ state: 'output-error', errorText: expect.stringMatching(words) })
  expect(errors).toEqual([])
})
