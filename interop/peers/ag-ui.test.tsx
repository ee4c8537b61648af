// @vitest-environment jsdom
import { agUi } from '@millrace/dialects/ag-ui'
import { expect, test } from 'vitest'
import { openAgUi } from './ag-ui.fixture.ts'
import { Page } from './peer-page.fixture.tsx'
import { mixedPauseSuite, peerSuite } from './peer-suite.fixture.tsx'

peerSuite({ open: openAgUi, connect: agUi })
mixedPauseSuite({ open: openAgUi, connect: agUi })

test('the page answers an interrupt', async () => {
  const { server, url } = await openAgUi()
  const page = new Page({ connection: agUi({ api: url }) })
  await page.chat.sendMessage('ask')
  await expect.poll(() => page.status).toBe('paused')
  const [pending] = page.pending.pendings
  expect(pending).toMatchObject({ kind: 'interrupt', interrupt: { input: { kind: 'text', question: 'Why?' } } })
  await page.pending.answer({ kind: 'interrupt', id: pending?.id ?? '', response: { approved: true } })
  await expect.poll(() => page.status).toBe('ready')
  const [first, second] = server.inputs
  expect(second).toMatchObject({
    threadId: first?.threadId,
    parentRunId: first?.runId,
    resume: [{ interruptId: pending?.id, status: 'resolved', payload: { approved: true } }],
  })
  expect(second?.runId).not.toBe(first?.runId)
})

test('sends the page’s tools, the agent’s own message ids, and state in both directions', async () => {
  const { server, url } = await openAgUi()
  const tools = [{ name: 'locate', description: 'Where the person is.', parameters: { type: 'object' } }]
  const page = new Page({ connection: agUi({ api: url, tools }), data: { page: 7 } })
  await page.chat.sendMessage('count')
  await expect.poll(() => page.status).toBe('ready')
  await page.chat.sendMessage('hi')
  await expect.poll(() => page.lines.length).toBe(3)
  await expect.poll(() => page.status).toBe('ready')
  await page.chat.sendMessage('bye')
  await expect.poll(() => server.inputs.length).toBe(3)
  expect(server.inputs[0]).toMatchObject({ tools, forwardedProps: { page: 7 }, threadId: page.chat.sessionId })
  expect(server.inputs[0]?.state).toEqual({})
  // A state delta that does not apply is ignored. The others stay.
  expect(server.inputs[2]?.state).toEqual({ sacks: 2, rye: { kilos: [4, 6] } })
  expect(server.inputs[2]?.messages.map(({ id, role }) => (role === 'user' ? role : `${role} ${id}`))).toEqual([
    'user',
    'user',
    'reasoning thought-1',
    'assistant text-2',
    'user',
  ])
})

test('only calls named at the end of a run are client tools', async () => {
  const { url } = await openAgUi()
  const page = new Page({ connection: agUi({ api: url }) })
  await page.chat.sendMessage('pending')
  await expect.poll(() => page.status).toBe('paused')
  expect(page.pending.pendings).toMatchObject([{ kind: 'client-tool', part: { toolName: 'locate' } }])
})

const WEIGHED = '[weigh output-available {"what":"rye"} {"what":"rye","kilos":4}]'
const WORKED = `assistant sent: (How heavy?)I weigh. ${WEIGHED}Then: yes.`

test.each([
  ['snapshot', WORKED],
  ['same', `assistant sent: I weigh. ${WEIGHED}Then: yes.`],
  ['other', 'assistant sent: {data-noted}What I mean.'],
  ['old', 'assistant sent: An answer.'],
])('a messages snapshot shows additions and corrections without repeating text (%s)', async (verb, line) => {
  const { server, url } = await openAgUi()
  const page = new Page({ connection: agUi({ api: url }) })
  await page.chat.sendMessage(verb)
  await page.shows('ready', `user sent: ${verb}`, line)
  await page.chat.sendMessage('hi')
  await page.shows(
    'ready',
    `user sent: ${verb}`,
    line,
    'user sent: hi',
    expect.stringContaining('You said: hi') as never,
  )
  const { messages = [] } = server.inputs[1] ?? {}
  expect(messages.filter(({ role }) => role === 'user')).toHaveLength(2)
  // A complete message keeps the id of the server.
  if (verb === 'snapshot')
    expect(messages.slice(1, -1).map(({ role }) => role)).toEqual(['reasoning', 'assistant', 'tool', 'assistant'])
})

test('shows earlier messages of the session before new ones and sends them with the next turn', async () => {
  const { server, url } = await openAgUi()
  const page = new Page({ connection: agUi({ api: url }) })
  const { messageId } = await page.chat.sendMessage('remember')
  const before = ['user sent: before', WORKED]
  await page.shows('ready', ...before, 'user sent: remember', 'assistant sent: An answer.')
  await page.chat.sendMessage('remember')
  const both = ['user sent: remember', 'assistant sent: An answer.']
  await page.shows('ready', ...before, ...both, ...both)
  expect(server.inputs[1]?.messages.map(({ id, role }) => (role === 'user' ? id : role))).toEqual([
    'past-1',
    'reasoning',
    'assistant',
    'tool',
    'assistant',
    messageId,
    'assistant',
    expect.any(String),
  ])
  await page.chat.regenerate()
  await expect.poll(() => server.calls).toBe(3)
  await page.shows('ready', ...before, ...both, ...both)
})

test('a client tool that throws is sent as an error', async () => {
  const { server, url } = await openAgUi()
  const locate = () => {
    throw new Error('no signal')
  }
  const page = new Page({ connection: agUi({ api: url }), tools: { locate } })
  await page.chat.sendMessage('locate me')
  await expect.poll(() => server.inputs.length).toBe(2)
  const result = server.inputs[1]?.messages.find(({ role }) => role === 'tool')
  expect(result).toMatchObject({ content: 'no signal', error: 'no signal' })
})
