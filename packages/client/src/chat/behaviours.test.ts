// What the page of behaviours says is held and nothing else pins: docs/reference/behaviours.md.

import { beforeEach, expect, test } from 'vitest'
import { Api } from '../connection/api.ts'
import { finished, Mill, shown, until } from './chat-mill.fixture.ts'

let mill: Mill
beforeEach(() => {
  mill = new Mill()
})

test('what goes along with one message goes along with no other', async () => {
  const chat = mill.chat({ data: { of: 'all' } })
  for (const data of [{ of: 'one' }, undefined]) {
    const end = finished(chat)
    await chat.sendMessage('Hello', data && { data })
    await end
  }
  expect(mill.bodies('POST /runs')).toMatchObject([{ data: { of: 'one' } }, { data: { of: 'all' } }])
})

test('while something waits for a person, what is said waits too, and is answered after it', async () => {
  const chat = mill.chat()
  await chat.sendMessage('Sell')
  await until(chat, () => chat.state.status === 'paused' && chat.store.pendings.length === 1)
  await chat.sendMessage('And now?')
  expect(shown(chat).at(-1)).toBe('user sending: And now?')
  const [pending] = chat.store.pendings
  await chat.answer({ kind: 'approval', id: pending?.id ?? '', approved: true })
  await until(chat, () => shown(chat).includes('assistant sent: You said: And now?'))
  expect(shown(chat)).toEqual([
    'user sent: Sell',
    'assistant sent: So be it.',
    'user sent: And now?',
    'assistant sent: You said: And now?',
  ])
})

test('headers may be an object, pairs or Headers, and are asked for each time where they are a function', async () => {
  const asked: (string | null)[] = []
  const seen: typeof fetch = async (_, init) => {
    const headers = new Headers(init?.headers)
    asked.push(`${headers.get('x-key')} ${headers.get('accept')}`)
    return Response.json({})
  }
  let count = 0
  const all = [{ 'x-key': 'a' }, [['x-key', 'b']] as [string, string][], new Headers({ 'x-key': 'c' })]
  for (const headers of [...all, async () => ({ 'x-key': `d${++count}` })]) {
    const api = new Api({ api: 'http://localhost/api', headers, fetch: seen })
    await api.ask('GET', '/')
    await api.ask('GET', '/')
  }
  expect(asked).toEqual(['a', 'a', 'b', 'b', 'c', 'c', 'd1', 'd2'].map(key => `${key} application/json`))
})
