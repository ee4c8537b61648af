// @vitest-environment jsdom
import { expect, test } from 'vitest'
import { INVENTORY, openBackend } from '../backend.fixture.ts'
import { Page } from './mui-page.fixture.tsx'

const open = async (agent: string) => {
  const backend = await openBackend()
  return { backend, page: new Page({ url: `${backend.url}/api/mui/${agent}`, conversationId: 's' }) }
}

test('receives text and reasoning, and a second turn', async () => {
  const { backend, page } = await open('teller')
  await page.sendMessage('hi')
  expect(page.errors).toEqual([])
  expect(page.last?.parts).toEqual([
    { type: 'step-start' },
    { type: 'reasoning', text: 'What did they say?', state: 'done' },
    { type: 'text', text: 'You said: hi', state: 'done' },
  ])
  expect(page.last?.status).toBe('sent')
  expect(page.finished).toMatchObject([{ isAbort: false, isDisconnect: false, isError: false, finishReason: 'stop' }])
  await page.sendMessage('again')
  expect(page.text).toBe('You said: again')
  expect((await backend.view('s')).messages.map(({ id }) => id)).toEqual(page.messages.map(({ id }) => id))
})

test('posts only the new message of each turn, without a history', async () => {
  const backend = await openBackend()
  const bodies: Record<string, unknown>[] = []
  const watched: typeof fetch = (input, init) => {
    if (init?.method === 'POST') bodies.push(JSON.parse(String(init.body)))
    return fetch(input, init)
  }
  const page = new Page({ url: `${backend.url}/api/mui/teller`, conversationId: 's', fetch: watched })
  await page.sendMessage('hi')
  await page.sendMessage('again')
  expect(page.errors).toEqual([])
  const parts = (text: string) => [{ type: 'text', text }]
  expect(bodies).toMatchObject([{ message: { parts: parts('hi') } }, { message: { parts: parts('again') } }])
  for (const body of bodies) expect(Object.keys(body)).not.toContain('messages')
  expect(JSON.stringify(bodies[1])).not.toContain('hi')
})

test('receives parallel tools with progress, several steps, replaced data and transient data', async () => {
  const { page } = await open('weigher')
  await page.sendMessage('weigh')
  expect(page.errors).toEqual([])
  expect(page.text).toBe('I weigh both.|Oats are heavier.')
  const calls = page.last?.parts.flatMap(part => (part.type === 'tool' ? [part.toolInvocation] : []))
  expect(calls).toMatchObject([
    { toolName: 'weigh', state: 'output-available', input: { what: 'rye' }, output: { what: 'rye', kilos: 4 } },
    { toolName: 'weigh', state: 'output-available', input: { what: 'oats' }, output: { what: 'oats', kilos: 6 } },
  ])
  expect(calls?.some(({ preliminary }) => preliminary)).toBe(false)
  expect(page.last?.parts.filter(({ type }) => type === 'step-start').length).toBe(2)
  expect(page.last?.parts.filter(({ type }) => type === 'data-scale').length).toBe(2)
  expect(page.last?.parts.filter(({ type }) => type === 'data-creak')).toEqual([])
  expect(page.data.map(part => (part as { type: string }).type).sort()).toEqual([
    'data-creak',
    'data-creak',
    'data-scale',
    'data-scale',
  ])
  // The MUI runtime does not use partial inputs and would call back for each piece.
  expect(page.toolStates.filter(state => state === 'input-streaming').length).toBe(2)
})

test.each([
  { approved: true, state: 'output-available', output: { sold: 'flour' } },
  { approved: false, state: 'output-denied', reason: 'too dear' },
])('an approval continues in the same message: $approved', async ({ approved, state, output, reason }) => {
  const { page } = await open('seller')
  const sent = page.sendMessage('sell')
  const { approvalId = '' } = await page.callIn('sell', 'approval-requested')
  await page.chat.addToolApprovalResponse({ id: approvalId, approved, ...(reason && { reason }) })
  await sent
  expect(page.errors).toEqual([])
  expect(page.messages.length).toBe(2)
  expect(page.text).toBe('May I?|So much for the flour.')
  expect(page.call('sell')).toMatchObject({ state, ...(output && { output }), ...(reason && { approval: { reason } }) })
  expect(page.finished.length).toBe(1)
})

test('answers an approval by its call id and rejects a forged one', async () => {
  const { backend, page } = await open('seller')
  const sent = page.sendMessage('sell')
  const { toolCallId } = await page.callIn('sell', 'approval-requested')
  await expect(page.adapter.answer({ kind: 'approval', id: 'forged', approved: true })).rejects.toMatchObject({
    code: 'transcript_refused',
  })
  await page.chat.addToolApprovalResponse({ id: 'forged', approved: true })
  expect(page.errors).toMatchObject([{ code: 'SEND_ERROR' }])
  expect((await backend.view('s')).pendings.length).toBe(1)
  await page.chat.addToolApprovalResponse({ id: toolCallId, approved: true })
  await sent
  expect(page.call('sell')?.output).toEqual({ sold: 'flour' })
})

test('answers a client tool through the adapter, because the MUI runtime has no client tools', async () => {
  const { page } = await open('guide')
  const sent = page.sendMessage('where')
  const { toolCallId } = await page.callIn('locate', 'input-available')
  await page.adapter.answer({ kind: 'tool-result', id: toolCallId, output: { city: 'Ulm' } })
  await sent
  expect(page.text).toBe('Where are you?|Now I know.')
  expect(page.call('locate')).toMatchObject({ state: 'output-available', output: { city: 'Ulm' } })
})

test('an interrupt and its answer are parts of the message', async () => {
  const { page } = await open('asker')
  const sent = page.sendMessage('ask')
  const questions = () => (page.last?.parts ?? []).filter(({ type }) => type === 'data-millrace')
  await expect.poll(() => questions().length).toBe(1)
  const { data } = questions()[0] as { data: { chunk: { interruptId: string; input: unknown } } }
  expect(data.chunk.input).toMatchObject({ question: 'Rye or oats?' })
  await page.adapter.answer({ kind: 'interrupt', id: data.chunk.interruptId, response: 'rye' })
  await sent
  expect(questions().length).toBe(2)
  expect(page.text).toBe('You chose "rye".')
})

test('receives final structured objects, sources, files and provider-executed calls', async () => {
  const { backend, page } = await open('painter')
  await page.sendMessage('paint')
  expect(page.last?.parts).toContainEqual({
    type: 'data-millrace',
    id: 'structured:picture',
    data: { chunk: expect.objectContaining({ kind: 'final', data: { title: 'Mill', strokes: [1, 2] } }) },
  })
  const librarian = new Page({ url: `${backend.url}/api/mui/librarian` })
  await librarian.sendMessage('read')
  expect(librarian.last?.parts).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ type: 'source-url', title: 'The mill' }),
      expect.objectContaining({ type: 'source-document', title: 'Notes' }),
      expect.objectContaining({ type: 'file', mediaType: 'image/png' }),
    ]),
  )
  const searcher = new Page({ url: `${backend.url}/api/mui/searcher` })
  await searcher.sendMessage('search')
  expect(searcher.call('web')).toMatchObject({ state: 'output-available', output: { hits: 2 }, providerExecuted: true })
  const lister = new Page({ url: `${backend.url}/api/mui/lister` })
  await lister.sendMessage('list')
  expect(JSON.stringify(lister.last?.parts)).toContain(JSON.stringify(INVENTORY.rows))
})

test('receives a failed tool call, and no sub-agent text in the message', async () => {
  const { backend, page } = await open('breaker')
  await page.sendMessage('break')
  expect(page.call('broken')).toMatchObject({ state: 'output-error' })
  expect(page.text).toBe('It broke.')
  const boss = new Page({ url: `${backend.url}/api/mui/boss` })
  await boss.sendMessage('count')
  expect(boss.text).toBe('I ask.|They counted.')
  expect(boss.messages.length).toBe(2)
})

test('law 7: a failed run is an error with its reason, not a disconnect', async () => {
  const { page } = await open('stumbler')
  await page.sendMessage('go')
  // The log discarded the attempt.
  expect(page.last?.parts).toEqual([])
  expect(page.last?.status).toBe('error')
  expect(page.errors).toMatchObject([{ code: 'STREAM_ERROR', message: expect.stringContaining('no more') }])
  expect(page.finished).toMatchObject([{ isError: true, isDisconnect: false }])
})

test('removes a discarded attempt', async () => {
  const { page } = await open('flaky')
  await page.sendMessage('go')
  expect(page.errors).toEqual([])
  expect(page.last?.parts).toEqual([
    { type: 'step-start' },
    { type: 'reasoning', text: 'Now then.', state: 'done' },
    { type: 'text', text: 'The wheel turns.', state: 'done' },
  ])
  // The two texts were never shown together.
  expect(page.texts.some(text => text.startsWith('I mean'))).toBe(true)
  expect(page.texts.filter(text => text.includes('I mean') && text.includes('wheel'))).toEqual([])
})

test('a rejected request is a send error', async () => {
  const { page } = await open('missing')
  await page.sendMessage('hi')
  expect(page.errors).toMatchObject([{ code: 'SEND_ERROR', message: expect.stringContaining('missing') }])
})
