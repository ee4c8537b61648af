// TanStack AI pages that are opened while their session is paused.

import { toolDefinition } from '@tanstack/ai'
import { ChatClient, type ChatClientOptions, clientTools, fetchServerSentEvents } from '@tanstack/ai-client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { type Backend, openBackend } from '../backend.fixture.ts'

function open(backend: Backend, agent: string, options: Partial<ChatClientOptions> = {}): ChatClient {
  const connection = fetchServerSentEvents(`${backend.url}/api/tanstack/${agent}`)
  return new ChatClient({ threadId: 's', connection, ...options } as ChatClientOptions)
}

/** A page that knows only the session id. */
function reload(backend: Backend, agent: string, options: Partial<ChatClientOptions> = {}): ChatClient {
  const client = open(backend, agent, { persistence: true, ...options } as never)
  client.attach()
  onTestFinished(() => client.dispose())
  return client
}

const textOf = (client: ChatClient) =>
  client
    .getMessages()
    .flatMap(({ role, parts }) => (role === 'assistant' ? parts : []))
    .flatMap(part => (part.type === 'text' ? [part.content] : []))
    .join('|')

function resolve(client: ChatClient, answer: unknown): void {
  const [interrupt] = client.getInterrupts()
  if (interrupt && 'resolveInterrupt' in interrupt) interrupt.resolveInterrupt(answer as never)
}

const locate = toolDefinition({
  name: 'locate',
  description: 'Where the person is.',
  inputSchema: z.object({ precise: z.boolean() }),
  outputSchema: z.object({ city: z.string() }),
})

test('answers an interrupt of a workflow', async () => {
  const backend = await openBackend()
  await open(backend, 'asker').sendMessage('go')
  const client = reload(backend, 'asker')
  await expect.poll(() => client.getInterrupts()).toMatchObject([{ message: 'Rye or oats?', status: 'pending' }])
  resolve(client, 'rye')
  await expect.poll(() => textOf(client)).toBe('You chose "rye".')
  expect(client.getError()).toBeUndefined()
  expect((await backend.view('s')).runs).toMatchObject([{ status: 'completed' }])
})

test('runs a pending client tool once', async () => {
  const backend = await openBackend()
  // The first page is closed before the tool ran.
  await open(backend, 'guide').sendMessage('where')
  const execute = vi.fn(async () => ({ city: 'Ulm' }))
  const client = reload(backend, 'guide', { tools: clientTools(locate.client(execute)) })
  await expect.poll(() => textOf(client)).toBe('Where are you?|Now I know.')
  expect(client.getError()).toBeUndefined()
  expect(execute).toHaveBeenCalledOnce()
  expect(client.getInterrupts()).toEqual([])
  expect(
    client
      .getMessages()
      .map(({ role }) => role)
      .slice(0, 2),
  ).toEqual(['user', 'assistant'])
  expect((await backend.view('s')).runs).toMatchObject([{ status: 'completed' }])
})

test('a page without the tool gets the tool name and answers manually; an invalid output fails the call, and the run continues', async () => {
  const backend = await openBackend()
  for (const [threadId, output, state] of [
    ['right', { city: 'Ulm' }, 'output-available'],
    ['wrong', { approved: true }, 'output-error'],
  ] as const) {
    await open(backend, 'guide', { threadId }).sendMessage('where')
    const client = reload(backend, 'guide', { threadId })
    const about = { kind: 'client_tool', toolName: 'locate', input: { precise: false } }
    await expect.poll(() => client.getInterrupts()).toMatchObject([{ kind: 'generic', metadata: about }])
    resolve(client, output)
    await expect.poll(() => textOf(client)).toBe('Where are you?|Now I know.')
    expect([client.getError(), client.getInterrupts()]).toEqual([undefined, []])
    expect((await backend.view(threadId)).messages.at(-1)?.parts).toContainEqual(expect.objectContaining({ state }))
  }
})
