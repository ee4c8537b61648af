import { expect, test } from 'vitest'
import type { Decoder } from '../dialect/dialect.ts'
import { HttpReply } from './http-reply.ts'

test('yields the chunks before an invalid event, and knows the id of the last event', async () => {
  const decoder: Decoder<{ text: string }> = {
    status: undefined,
    decode: ({ text }) => [{ chunk: { type: 'text-delta', id: 't', delta: text } }],
  }
  const body = 'id: 1\ndata: {"text":"a"}\n\nid: 2\ndata: {"text":"b"}\n\ndata: [DONE]\n\ndata: {no\n\n'
  const reply = new HttpReply(new Response(body, { headers: { 'content-type': 'text/event-stream' } }), decoder)
  const received: unknown[] = []
  const read = async () => {
    for await (const batch of reply) received.push(...batch.map(({ chunk }) => chunk))
  }
  await expect(read()).rejects.toMatchObject({ code: 'invalid-json' })
  expect(received).toMatchObject([{ delta: 'a' }, { delta: 'b' }])
  expect(reply.lastId).toBe('2')
})
