import { agent, scriptedModel } from '@millrace/runtime'
import { type Listening, millrace } from '@millrace/server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HttpChat } from './http-chat.ts'

let server: Listening
beforeAll(async () => {
  const model = scriptedModel(({ lastText }) => ({ text: `You said: ${lastText}` }))
  server = await millrace({ store: 'memory:', agents: [agent({ name: 'echo', model })] }).listen({ port: 0 })
})
afterAll(() => server.close())

test('a message is shown at once, and its answer when it comes', async () => {
  const finished = Promise.withResolvers<string | undefined>()
  const chat = new HttpChat({
    api: `${server.url}/api`,
    agent: 'echo',
    onFinish: ({ message }) => finished.resolve(message?.status),
  })
  const stop = chat.start()
  const sent = chat.send('Hello')
  expect(chat.store.messages.map(({ role, status }) => [role, status])).toEqual([['user', 'sending']])
  expect(await sent).not.toHaveProperty('error')
  expect(await finished.promise).toBe('sent')
  expect(
    chat.store.messages.map(({ role, parts }) => [role, parts.flatMap(part => ('text' in part ? part.text : []))]),
  ).toEqual([
    ['user', ['Hello']],
    ['assistant', ['You said: Hello']],
  ])
  stop()
})
