import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client'
import { expect, test } from 'vitest'
import { openBackend } from '../backend.fixture.ts'

test('shows the input of a call while it streams, and finally the input of the tool', async () => {
  const backend = await openBackend()
  const seen: unknown[] = []
  const client = new ChatClient({
    threadId: 's',
    connection: fetchServerSentEvents(`${backend.url}/api/tanstack/scribe`),
    onMessagesChange: messages => {
      for (const part of messages.at(-1)?.parts ?? []) {
        if (part.type === 'tool-call') seen.push([part.state, part.arguments])
      }
    },
  })
  const sent = client.sendMessage('weigh')
  await expect.poll(() => seen).toContainEqual(['input-streaming', '{"what":"rye",'])
  backend.gate.open()
  await sent
  expect(client.getError()).toBeUndefined()
  const parts = client.getMessages().flatMap(message => message.parts)
  expect(parts.find(({ type }) => type === 'tool-call')).toMatchObject({
    state: 'complete',
    arguments: '{"what":"rye","kilos":4}',
    output: { what: 'rye', kilos: 4 },
  })
  expect(parts.at(-1)).toMatchObject({ type: 'text', content: 'one two three four' })
})
