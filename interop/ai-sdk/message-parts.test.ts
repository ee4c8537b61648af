import { millraceTransport } from '@millrace/dialects/ai-sdk'
import { agent, scriptedModel, subAgent, tool } from '@millrace/runtime'
import type { ChatTransport, UIMessage } from 'ai'
import { type UIMessageChunk as Theirs, validateUIMessages } from 'ai'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { openBackend, sell } from '../backend.fixture.ts'
import { chatWith, partsOf, textOf } from './ai-sdk-chat.fixture.ts'

test('keeps the approval of a sub-agent in the message and answers it by a separate request', async () => {
  const clerk = agent({
    name: 'clerk',
    model: scriptedModel(({ turnAnswers }) =>
      turnAnswers === 0 ? { calls: [{ name: 'sell', input: { what: 'rye' } }] } : { text: 'Sold.' },
    ),
    tools: [sell],
  })
  const head = agent({
    name: 'head',
    model: scriptedModel(({ turnAnswers }) =>
      turnAnswers === 0 ? { calls: [{ name: 'clerk', input: { prompt: 'rye' } }] } : { text: 'The clerk did it.' },
    ),
    subAgents: [subAgent(clerk, { description: 'Sells.' })],
  })
  const backend = await openBackend({ agents: [head] })
  const chat = chatWith(backend, 'head')
  await chat.sendMessage({ text: 'sell' })
  const [approvalPart] = partsOf(chat.lastMessage, 'data-millrace') as { data: { chunk: { approvalId: string } } }[]
  expect(approvalPart?.data.chunk).toMatchObject({ type: 'tool-approval-request', input: { what: 'rye' } })
  const messages = (await (await fetch(`${backend.url}/api/ai-sdk/head/s/messages`)).json()) as UIMessage[]
  await validateUIMessages({ messages })
  expect(partsOf(messages.at(-1), 'data-millrace')).toMatchObject([
    { id: `approval:${approvalPart?.data.chunk.approvalId}` },
  ])
  const answer = { kind: 'approval', id: approvalPart?.data.chunk.approvalId, approved: true }
  await chat.sendMessage(undefined, { body: { answers: [answer] } })
  expect(chat.error).toBeUndefined()
  expect(textOf(chat.lastMessage)).toBe('The clerk did it.')
  expect(partsOf(chat.lastMessage, 'data-millrace')).toMatchObject([{ data: { chunk: { approved: true } } }])
})

test('large outputs are complete in the stream and in the messages', async () => {
  const dump = tool({ name: 'dump', inputSchema: z.object({}), execute: () => 'x'.repeat(100_000) })
  const script = [{ calls: [{ name: 'dump', input: {} }] }, { text: 'There it is.' }]
  const backend = await openBackend({ agents: [agent({ name: 'large', model: scriptedModel(script), tools: [dump] })] })
  const chat = chatWith(backend, 'large')
  await chat.sendMessage({ text: 'all of it' })
  const messages = (await (await fetch(`${backend.url}/api/ai-sdk/large/s/messages`)).json()) as UIMessage[]
  for (const message of [chat.lastMessage, messages.at(-1)]) {
    expect(String(partsOf(message, 'tool-dump')[0]?.output)).toHaveLength(100_000)
  }
})

test('our transport implements their interface', () => {
  expectTypeOf(millraceTransport({ api: '' })).toExtend<ChatTransport<UIMessage>>()
  expectTypeOf<ReadableStream<never>>().toExtend<ReadableStream<Theirs>>()
})
