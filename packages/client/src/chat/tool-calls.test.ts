import type { Json, Pending, ToolPart } from '@millrace/protocol'
import { expect, test, vi } from 'vitest'
import { type ChatError, RequestError } from '../error/chat-error.ts'
import type { ClientToolContext } from '../types/index.ts'
import { finished, InProcessServer, until } from './in-process-server.fixture.ts'
import { ToolCalls, type ToolCallsApi } from './tool-calls.ts'

const part = { type: 'tool', toolCallId: 'c', toolName: 'locate', input: {} } as unknown as ToolPart
const pendings = [{ kind: 'client-tool', id: 'c', part, messageId: 'm' }] as unknown as Pending[]

type PostedAnswer = { readonly kind: string; readonly output?: unknown; readonly error?: string }

/** Records answers, and responds as a test says. */
class FakeAnswers implements ToolCallsApi {
  readonly posted: PostedAnswer[] = []
  readonly errors: unknown[] = []
  respond: (answer: PostedAnswer) => unknown = () => ({})
  readonly calls = new ToolCalls(this, error => void this.errors.push(error))

  async answer(answer: object): Promise<unknown> {
    this.posted.push(answer as PostedAnswer)
    return this.respond(answer as PostedAnswer)
  }

  async inputOf(): Promise<Json> {
    return {}
  }

  get results(): PostedAnswer[] {
    return this.posted.filter(({ kind }) => kind === 'tool-result')
  }
}

const refuse = (status: number) => {
  throw new RequestError({ code: `http_${status}`, message: 'No.' }, status)
}

/** Waits until all pending promises have settled. */
const settle = () => new Promise(resolve => setTimeout(resolve))

test('reports a refused result once, and does not run the tool again', async () => {
  const server = new FakeAnswers()
  const locate = vi.fn(() => 'Ulm')
  server.calls.tools = { locate }
  server.respond = ({ kind }) => kind === 'tool-result' && refuse(403)
  for (let i = 0; i < 5; i++) {
    server.calls.update(pendings)
    await settle()
  }
  expect(locate).toHaveBeenCalledTimes(1)
  expect(server.results).toMatchObject([{ output: 'Ulm' }, { error: 'No.' }])
  expect(server.errors).toMatchObject([{ code: 'http_403' }])
  // A call that is pending again after it was not is a new call.
  server.calls.update([])
  server.calls.update(pendings)
  await settle()
  expect(locate).toHaveBeenCalledTimes(2)
  server.calls.close()
})

test('reports a refused claim once, and a conflict with another tab never', async () => {
  for (const [status, errors] of [
    [403, 1],
    [409, 0],
  ] as const) {
    const server = new FakeAnswers()
    const locate = vi.fn()
    server.calls.tools = { locate }
    server.respond = () => refuse(status)
    server.calls.update(pendings)
    await settle()
    server.calls.update(pendings)
    await settle()
    expect(server.posted).toHaveLength(1)
    expect(server.errors).toHaveLength(errors)
    expect(locate).not.toHaveBeenCalled()
  }
})

test('sends an error to the model if the server refuses an output, and reports none', async () => {
  const server = new FakeAnswers()
  server.calls.tools = { locate: () => 'Atlantis' }
  server.respond = answer => 'output' in answer && refuse(400)
  server.calls.update(pendings)
  await settle()
  expect(server.results).toMatchObject([{ output: 'Atlantis' }, { error: 'No.' }])
  expect(server.errors).toEqual([])
})

test('does not run a tool again that ignores its abort and still runs on the next start', async () => {
  const server = new FakeAnswers()
  const end = Promise.withResolvers<string>()
  const locate = vi.fn((_: unknown, __: ClientToolContext) => end.promise)
  server.calls.tools = { locate }
  server.calls.update(pendings)
  await settle()
  server.calls.close()
  expect(locate.mock.calls[0]?.[1].signal.aborted).toBe(true)
  server.calls.update(pendings)
  await settle()
  end.resolve('Ulm')
  await settle()
  expect(locate).toHaveBeenCalledTimes(1)
  expect(server.results).toMatchObject([{ output: 'Ulm' }])
})

test('runs a tool again on the next start if it stopped on abort', async () => {
  const server = new FakeAnswers()
  const ends: ((output: string) => void)[] = []
  const locate = (_: unknown, { signal }: ClientToolContext) =>
    new Promise((resolve, reject) => {
      ends.push(resolve)
      signal.addEventListener('abort', () => reject(new Error('aborted')))
    })
  server.calls.tools = { locate }
  server.calls.update(pendings)
  await settle()
  server.calls.close()
  server.calls.update(pendings)
  await settle()
  ends[1]?.('Ulm')
  await settle()
  expect(ends).toHaveLength(2)
  expect(server.results).toMatchObject([{ output: 'Ulm' }])
})

test('does not run a tool that was removed before it ran, until it is added again', async () => {
  const server = new FakeAnswers()
  const locate = vi.fn(() => 'Ulm')
  server.calls.tools = { locate }
  server.calls.update(pendings)
  server.calls.tools = {}
  await settle()
  expect(server.results).toEqual([])
  expect(server.errors).toEqual([])
  server.calls.tools = { locate }
  server.calls.update(pendings)
  await settle()
  expect(server.results).toMatchObject([{ output: 'Ulm' }])
})

test('runs a tool once and reports an error if the server refuses its result', async () => {
  const server = new InProcessServer()
  const locate = vi.fn(() => 'Ulm')
  const errors: ChatError[] = []
  const chat = server.chat({ tools: { locate }, onError: error => void errors.push(error) })
  server.intercept = (route, body) =>
    route === 'POST /answers' && (body as PostedAnswer).kind === 'tool-result'
      ? new Response('', { status: 403 })
      : undefined
  await chat.sendMessage('Where')
  await until(chat, () => chat.state.error !== undefined)
  expect(errors).toMatchObject([{ code: 'http_403', source: 'answer', details: { toolCallId: expect.any(String) } }])
  // A renewed claim changes the pendings. The tool does not run again.
  const id = chat.store.pendings[0]?.id as string
  const url = `http://localhost:4400/api/sessions/${chat.state.sessionId}/answers`
  const body = JSON.stringify({
    kind: 'claim',
    id,
    client: (server.bodies('POST /answers')[0] as { client: string }).client,
  })
  const notified = new Promise<void>(resolve => void chat.store.subscribe(['any'], resolve))
  await server.app.fetch(new Request(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body }))
  await notified
  await settle()
  expect(locate).toHaveBeenCalledTimes(1)
  await chat.stop()
})

test.each([
  ['is not JSON', () => 10n, /BigInt/],
  ['is a long error', () => Promise.reject(new Error('x'.repeat(9_000))), /^x{8192}$/],
])('sends an error to the model if the result of a tool %s', async (_, locate, errorText) => {
  const server = new InProcessServer()
  const errors: ChatError[] = []
  const chat = server.chat({ tools: { locate }, onError: error => void errors.push(error) })
  const end = finished(chat)
  await chat.sendMessage('Where')
  await end
  const call = chat.store.messages[1]?.parts.find(({ type }) => type === 'tool')
  expect(call).toMatchObject({ state: 'output-error', errorText: expect.stringMatching(errorText) })
  expect(errors).toEqual([])
})
