// Our client over each dialect of our server shows the same as without a dialect.

import { type Chat, createChat } from '@millrace/client'
import { agUi } from '@millrace/dialects/ag-ui'
import { aiSdk } from '@millrace/dialects/ai-sdk'
import type { ForeignConnection } from '@millrace/dialects/foreign-server'
import { helix } from '@millrace/dialects/helix'
import { kortyx } from '@millrace/dialects/kortyx'
import { tanstack } from '@millrace/dialects/tanstack'
import type { Message, StructuredObject } from '@millrace/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Backend, openBackend } from '../backend.fixture.ts'

const settled = (chat: Chat): Promise<Chat['state']['status']> =>
  new Promise(resolve => {
    const check = () => {
      const { status } = chat.state
      if (status === 'submitted' || status === 'streaming') return
      leave()
      chat.store.flush()
      resolve(status)
    }
    const leave = chat.subscribe(check)
    check()
  })

const textsOf = ({ store }: Chat): string[] =>
  store.messages.map(({ parts }) => parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join(''))

const NAMES = new Set(['id', 'key', 'at', 'metaAt', 'createdAt', 'runId', 'agentId', 'agentType', 'messageId', 'claim'])

/** Content of messages without ids and positions. */
const plain = (messages: readonly (Message | StructuredObject)[]): unknown =>
  JSON.parse(JSON.stringify(messages, (key, value) => (NAMES.has(key) ? undefined : value)))

const AGENTS = [
  'teller',
  'weigher',
  'seller',
  'guide',
  'breaker',
  'lister',
  'librarian',
  'signer',
  'searcher',
  'flaky',
  'boss',
  'asker',
  'painter',
]

/** Agents that run once: the painter restarts an image, which is invalid on repetition; `flaky` waits before its retry. */
const ONCE = new Set(['painter', 'flaky'])

/** Answers pendings until there are none. */
async function converse(chat: Chat): Promise<void> {
  for (;;) {
    const status = await settled(chat)
    if (status !== 'paused') return
    const [pending] = chat.store.pendings
    if (pending?.kind === 'approval') await chat.answer({ kind: 'approval', id: pending.id, approved: true })
    if (pending?.kind === 'interrupt') await chat.answer({ kind: 'interrupt', id: pending.id, response: 'rye' })
    if (pending?.kind === 'client-tool')
      await chat.answer({ kind: 'tool-result', id: pending.id, output: { city: 'Delft' } })
    await Promise.resolve()
  }
}

const DIALECTS: [string, (backend: Backend, agent: string) => ForeignConnection][] = [
  ['ai-sdk', (backend, agent) => aiSdk({ api: `${backend.url}/api/ai-sdk/${agent}`, stop: true })],
  ['ag-ui', (backend, agent) => agUi({ api: `${backend.url}/api/ag-ui/${agent}`, stop: true })],
  ['kortyx', (backend, agent) => kortyx({ api: `${backend.url}/api/kortyx/${agent}` })],
  ['helix', (backend, agent) => helix({ api: `${backend.url}/api/helix/${agent}` })],
  ['tanstack', (backend, agent) => tanstack({ api: `${backend.url}/api/tanstack/${agent}` })],
]

describe.each(DIALECTS)('%s', (name, connect) => {
  // Without message ids, a single message can be the last of many.
  const hasIds = name !== 'kortyx'

  test.each(AGENTS)('%s', async agent => {
    const backend = await openBackend()
    const chat = createChat({ connection: connect(backend, agent) })
    onTestFinished(chat.start())
    for (const text of ONCE.has(agent) ? ['one'] : ['one', 'two']) {
      await chat.sendMessage(text)
      await converse(chat)
    }
    expect(chat.state.error).toBeUndefined()
    const view = await backend.view(chat.state.sessionId as string)
    expect(plain(chat.store.messages)).toEqual(plain(view.messages))
    expect(chat.store.state).toEqual(view.state)
    expect(chat.store.output).toEqual(view.output)
    expect(plain(chat.store.view().structured)).toEqual(plain(view.structured))
  })

  test('regenerate and edit change the log and the page in the same way', async () => {
    const backend = await openBackend()
    const chat = createChat({ connection: connect(backend, 'teller') })
    onTestFinished(chat.start())
    const outcomeOf = async (request: Promise<unknown>) => {
      await request
      expect(await settled(chat)).toBe('ready')
    }
    await outcomeOf(chat.sendMessage('one'))
    await outcomeOf(chat.sendMessage('two'))
    await outcomeOf(chat.regenerate())
    expect(backend.calls['teller']).toBe(3)
    const { messages } = chat.store
    expect(messages.length).toBe(4)
    if (name === 'helix') {
      // The dialect cannot express it: it is rejected, and nothing changes.
      const { error } = await chat.edit(messages[2]?.id ?? '', 'TWO')
      expect(error).toMatchObject({ code: 'not_supported' })
      expect((await chat.regenerate(messages[0]?.id)).error).toMatchObject({ code: 'not_supported' })
      expect(backend.calls['teller']).toBe(3)
      return
    }
    await outcomeOf(chat.edit(messages[2]?.id ?? '', 'TWO'))
    await outcomeOf(chat.edit(chat.store.messages[2]?.id ?? '', 'Two'))
    expect(backend.calls['teller']).toBe(5)
    const view = async () => plain((await backend.view(chat.state.sessionId as string)).messages)
    expect(plain(chat.store.messages)).toEqual(await view())
    expect(textsOf(chat)).toEqual(['one', 'You said: one', 'Two', 'You said: Two'])
    if (!hasIds) return
    await outcomeOf(chat.edit(messages[0]?.id ?? '', 'ONE'))
    await outcomeOf(chat.sendMessage('three'))
    expect(textsOf(chat)).toEqual(['ONE', 'You said: ONE', 'three', 'You said: three'])
    expect(plain(chat.store.messages)).toEqual(await view())
  })
})

test.each(DIALECTS.filter(([name]) => name !== 'kortyx' && name !== 'tanstack'))(
  '%s: stop reaches a run that continues without readers',
  async (_, connect) => {
    const backend = await openBackend()
    const chat = createChat({ connection: connect(backend, 'holder') })
    onTestFinished(chat.start())
    await chat.sendMessage('hold')
    await backend.gate.reached
    await expect.poll(() => textsOf(chat)).toEqual(['hold', 'one two '])
    await chat.stop()
    expect(await settled(chat)).toBe('ready')
    expect(chat.store.messages[1]).toMatchObject({ status: 'cancelled' })
    const isOver = async () => (await backend.view(chat.state.sessionId as string)).runs[0]?.status
    await expect.poll(isOver).toBe('interrupted')
  },
)
