// @vitest-environment jsdom
import { tanstack } from '@millrace/dialects/tanstack'
import {
  type AnyTextAdapter,
  chat,
  type ModelMessage,
  type StreamChunk,
  toolDefinition,
  toServerSentEventsResponse,
} from 'seed-tanstack-ai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Page } from '../peers/peer-page.fixture.tsx'

const weigh = toolDefinition({ name: 'weigh', description: 'Weighs.', inputSchema: z.object({ kilos: z.number() }) })
const sell = toolDefinition({
  name: 'sell',
  description: 'Sells.',
  inputSchema: z.object({ what: z.string() }),
  needsApproval: true,
})

const base = { id: 'reply', model: 'scripted', timestamp: 1 }

/** A model adapter of 0.2: calls the tool named in the message, then echoes it. */
async function* streamAnswer(messages: readonly ModelMessage[]): AsyncGenerator<StreamChunk> {
  const last = messages.at(-1)
  const question = String(messages.findLast(({ role }) => role === 'user')?.content)
  if (last?.role === 'user' && question !== 'talk') {
    const args = question === 'weigh' ? '{"kilos":4}' : '{"what":"flour"}'
    for (const piece of [args.slice(0, 5), args.slice(5)])
      yield {
        ...base,
        type: 'tool_call',
        toolCall: { id: `call-${question}`, type: 'function', function: { name: question, arguments: piece } },
        index: 0,
      }
    yield { ...base, type: 'done', finishReason: 'tool_calls' }
    return
  }
  yield { ...base, type: 'thinking', delta: 'Hm.', content: 'Hm.' }
  const text = last?.role === 'tool' ? `It gave ${last.content}` : 'You talk.'
  yield { ...base, type: 'content', delta: text, content: text, role: 'assistant' }
  yield { ...base, type: 'done', finishReason: 'stop' }
}

const adapter = {
  kind: 'text',
  name: 'scripted',
  model: 'scripted',
  chatStream: ({ messages }: { messages: readonly ModelMessage[] }) => streamAnswer(messages),
} as unknown as AnyTextAdapter

/** A server of 0.2 in the same process. */
const serve: typeof fetch = async (_, init) => {
  const { messages } = JSON.parse(String(init?.body)) as { messages: ModelMessage[] }
  const tools = [weigh.server(({ kilos }) => ({ heavy: kilos > 3 })), sell.server(({ what }) => ({ sold: what }))]
  return toServerSentEventsResponse(chat({ adapter, messages, tools }) as AsyncIterable<StreamChunk>)
}

const open = () => new Page({ connection: tanstack({ api: 'http://legacy.test', protocol: 'chunks', fetch: serve }) })

test('our hooks over a real 0.2 server: text, thinking and a server tool', async () => {
  const page = open()
  await page.chat.sendMessage('talk')
  await page.shows('ready', 'user sent: talk', 'assistant sent: (Hm.)You talk.')
  await page.chat.sendMessage('weigh')
  await expect
    .poll(() => page.lines.at(-1))
    .toBe('assistant sent: [weigh output-available {"kilos":4} {"heavy":true}](Hm.)It gave {"heavy":true}')
})

test.each([true, false])('our hooks over a real 0.2 server: an approval in the transcript: %s', async approved => {
  const page = open()
  await page.chat.sendMessage('sell')
  await expect.poll(() => page.pending.pendings.length).toBe(1)
  const [pending] = page.pending.pendings
  await page.pending.answer({ kind: 'approval', id: pending?.id ?? '', approved })
  const result = approved ? '{"sold":"flour"}' : '{"error"'
  await expect.poll(() => page.lines.at(-1)).toContain(`It gave ${result}`)
})
