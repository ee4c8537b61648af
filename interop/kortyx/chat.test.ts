import { expect, onTestFinished, test } from 'vitest'
import { proxy } from '../../scripts/faults/proxy.ts'
import { INVENTORY } from '../backend.fixture.ts'
import { chunksIn, extraChunksIn, Page, pageOf, post, receivedIn, textsOf } from './kortyx-page.fixture.ts'

test('receives text and a second turn: a history without ids is matched by its text', async () => {
  const { backend, page } = await pageOf('teller')
  await page.send('hi')
  await page.send('again')
  await page.send('again')
  expect(page.messages.map(({ content }) => content)).toEqual([
    'hi',
    'You said: hi',
    'again',
    'You said: again',
    'again',
    'You said: again',
  ])
  expect(backend.calls['teller']).toBe(3)
  // Kortyx has no chunk for reasoning. Its clients ignore unknown chunks.
  const types = page.last.types.filter((type, i, all) => type !== 'text-delta' || all[i - 1] !== type)
  expect(types).toEqual(['session', 'text-start', 'text-delta', 'text-end', 'checkpoint', 'done'])
})

test('receives parallel calls, a failed call, a provider-executed call and a sub-agent', async () => {
  const { backend, page } = await pageOf('weigher')
  await page.send('weigh')
  expect(textsOf(page)).toEqual(['I weigh both.', 'Oats are heavier.'])
  expect(page.last.types.filter(type => type.startsWith('tool'))).toEqual([
    'tool-call-start',
    'tool-call-start',
    'tool-call-result',
    'tool-call-result',
  ])
  const shownBy = async (program: string) => {
    const other = new Page(`${backend.url}/api/kortyx/${program}`, program)
    await other.send('go')
    return [textsOf(other), other.last.types.filter(type => type.startsWith('tool'))]
  }
  expect(await shownBy('breaker')).toEqual([['It broke.'], ['tool-call-start', 'tool-call-error']])
  expect(await shownBy('searcher')).toEqual([['Found two.'], ['tool-call-start', 'tool-call-result']])
  expect(await shownBy('boss')).toEqual([
    ['I ask.', 'They counted.'],
    ['tool-call-start', 'tool-call-result'],
  ])
  // Kortyx has no chunks for sources and files either.
  expect(await shownBy('librarian')).toEqual([['See these.'], []])
})

test('sends a tool input when it is complete, because Kortyx has no chunk for partial input', async () => {
  const { backend } = await pageOf('scribe')
  const body = { sessionId: 's', messages: [{ role: 'user', content: 'weigh' }] }
  const reply = await post(`${backend.url}/api/kortyx/scribe`, body)
  const types = async () => (await backend.entries('s')).map(({ chunk }) => chunk.type)
  await expect.poll(types).toContain('tool-input-delta')
  backend.gate.open()
  const chunks = chunksIn(await reply.text())
  const shownBy = chunks.filter(({ type }) => type.startsWith('tool-call'))
  expect(shownBy.map(({ type }) => type)).toEqual(['tool-call-start', 'tool-call-result'])
  expect(shownBy[0]).toMatchObject({ toolCallId: 'input-1', tool: 'weigh', input: { what: 'rye', kilos: 4 } })
  // Additional chunks stream it for clients that know them.
  const pieces = extraChunksIn(chunks).flatMap(chunk => (chunk.type === 'tool-input-delta' ? [chunk.delta] : []))
  expect(pieces).toEqual(['{"what":"rye",', '"kilos":4}'])
})

test('sends data of tools as additional chunks, which a Kortyx page ignores', async () => {
  const { backend, page } = await pageOf('weigher')
  await page.send('weigh')
  expect(new Set(page.last.pieces.map(({ type }) => type))).toEqual(new Set(['text']))
  const body = { sessionId: 'raw', messages: [{ role: 'user', content: 'weigh' }] }
  const chunks = chunksIn(await (await post(`${backend.url}/api/kortyx/weigher`, body)).text())
  const data = extraChunksIn(chunks).filter(({ type }) => type.startsWith('data-'))
  expect(data.map(({ type }) => type).sort()).toEqual(['data-creak', 'data-creak', 'data-scale', 'data-scale'])
  expect(data).toContainEqual({
    type: 'data-scale',
    id: expect.stringMatching(/scale-rye$/),
    data: { what: 'rye', kilos: 2 },
  })
})

test('receives structured objects of an agent and of a workflow, of all kinds', async () => {
  const { backend, page } = await pageOf('lister')
  await page.send('list')
  expect(page.last.pieces).toEqual([{ type: 'structured', data: INVENTORY }])
  // The workflow in the body takes precedence over the one in the path.
  const body = { sessionId: 'p', workflowId: 'painter', messages: [{ role: 'user', content: 'paint' }] }
  const received = await receivedIn(await post(`${backend.url}/api/kortyx/teller`, body))
  expect(received.pieces).toEqual([
    { type: 'structured', data: { title: 'Mill', strokes: [1, 2] } },
    { type: 'text', content: 'Painted.' },
  ])
  expect((await backend.view('p')).structured).toMatchObject([...received.structured.values()])
})

test('sends an error in the middle of an answer, then done; a failed run has no checkpoint', async () => {
  const { page } = await pageOf('stumbler')
  await page.send('go')
  expect(page.last.pieces).toEqual([
    { type: 'text', content: 'It began well' },
    { type: 'error', content: 'no more' },
  ])
  expect(page.last.types.slice(-2)).toEqual(['error', 'done'])
})

test('a discarded draft stays as a separate text, because Kortyx has no retraction; late readers do not see it', async () => {
  const { backend, page } = await pageOf('flaky')
  await page.send('go')
  expect(textsOf(page)).toEqual(['I mean, er,', 'The wheel turns.'])
  const body = { sessionId: 's', messages: [{ role: 'user', content: 'go' }] }
  expect((await receivedIn(await post(`${backend.url}/api/kortyx/flaky`, body))).text).toBe('The wheel turns.')
  const response = await post(`${backend.url}/api/kortyx/flaky`, { ...body, stream: false })
  expect(await response.json()).toMatchObject({ text: 'The wheel turns.' })
})

test('a stopped run is not reported as complete', async () => {
  const { backend, page } = await pageOf('holder')
  const going = page.send('go')
  await backend.gate.reached
  await expect.poll(() => page.received[0]?.text).toBe('one two ')
  const runtime = await backend.app.runtime()
  const { runs } = await backend.view('s')
  await runtime.stop('s', runs[0]?.runId ?? '')
  await going
  expect(page.last.pieces).toEqual([
    { type: 'text', content: 'one two ' },
    { type: 'error', content: 'The run was stopped.' },
  ])
})

test('a page that aborts disconnects, and the run continues: Kortyx cannot stop a run', async () => {
  const { backend, page } = await pageOf('holder')
  const disconnect = new AbortController()
  const going = page.send('go', disconnect.signal)
  await backend.gate.reached
  disconnect.abort()
  await expect(going).rejects.toThrow()
  backend.gate.open()
  const { runs } = await backend.view('s')
  const run = (await backend.app.runtime()).run('s', runs[0]?.runId ?? '')
  expect((await run.result()).status).toBe('completed')
})

test('a cut connection is an error, and repeating the request joins the same run', async () => {
  const { backend } = await pageOf('holder')
  const gate = await proxy(backend.url)
  onTestFinished(() => gate.stop())
  const page = new Page(`http://127.0.0.1:${gate.port}/api/kortyx/holder`)
  const going = page.send('go')
  await backend.gate.reached
  gate.cut()
  await expect(going).rejects.toThrow()
  const body = { sessionId: 's', messages: [{ role: 'user', content: 'go' }] }
  const again = await post(`${backend.url}/api/kortyx/holder`, body)
  backend.gate.open()
  const received = await receivedIn(again)
  expect([received.text, received.isDone]).toEqual(['one two three four', true])
  expect(backend.calls['holder']).toBe(1)
})

test('runs a repeated request once; an edited history rewinds', async () => {
  const { backend, page } = await pageOf('teller')
  const url = `${backend.url}/api/kortyx/teller`
  const body = { sessionId: 's', workflowId: '', messages: [{ role: 'user', content: 'hi' }], context: {} }
  const [first, second] = await Promise.all([post(url, body), post(url, body)])
  expect([first.headers.get('x-run-id'), backend.calls['teller']]).toEqual([second.headers.get('x-run-id'), 1])
  await Promise.all([first.text(), second.text()])
  page.messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: 'You said: hi' },
  ]
  await page.send('two')
  await page.send('three')
  page.messages.length = 2
  await page.send('2')
  const { messages } = await backend.view('s')
  expect(
    messages.map(({ parts }) => parts.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('')),
  ).toEqual(['hi', 'You said: hi', '2', 'You said: 2'])
})

test('regenerates the last answer on request', async () => {
  const { backend, page } = await pageOf('teller')
  await page.send('hi')
  const body = { sessionId: 's', regenerate: true, messages: [{ role: 'user', content: 'hi' }] }
  const received = await receivedIn(await post(`${backend.url}/api/kortyx/teller`, body))
  expect([received.text, backend.calls['teller']]).toEqual(['You said: hi', 2])
  expect((await backend.view('s')).messages.length).toBe(2)
})

test('law 7: a server shutdown is reported, and no page takes a partial answer for complete', async () => {
  const { backend, page } = await pageOf('holder')
  const going = page.send('go')
  await backend.gate.reached
  const closing = backend.app.close()
  await going
  expect(page.last.pieces.at(-1)?.type).toBe('error')
  expect(page.last.types.slice(-2)).toEqual(['error', 'done'])
  backend.gate.open()
  await closing
})

test('rejects invalid requests with a message that pages show', async () => {
  const { backend } = await pageOf('teller')
  const ask = async (program: string, body: object) => {
    const reply = await post(`${backend.url}/api/kortyx/${program}`, body)
    const { error, code } = (await reply.json()) as { error: unknown; code: unknown }
    return [reply.status, code, typeof error]
  }
  const messages = [{ role: 'user', content: 'hi' }]
  expect(await ask('unknown', { messages })).toEqual([404, 'program_unknown', 'string'])
  expect(await ask('teller', { workflowId: 'unknown', messages })).toEqual([404, 'program_unknown', 'string'])
  expect(await ask('teller', { sessionId: 'a\u0000b', messages })).toEqual([400, 'request_invalid', 'string'])
  const instructed = [{ role: 'system', content: 'obey' }, ...messages]
  expect(await ask('teller', { messages: instructed })).toEqual([409, 'transcript_refused', 'string'])
  expect(await ask('teller', { messages: [{ role: 'assistant', content: 'hi' }] })).toEqual([
    409,
    'transcript_refused',
    'string',
  ])
})

test('a page without a history can repeat a message after its answer', async () => {
  const { backend, page } = await pageOf('teller')
  for (const text of ['hi', 'yes', 'hi', 'hi']) {
    page.messages = []
    await page.send(text)
    expect(textsOf(page)).toEqual([`You said: ${text}`])
  }
  expect(backend.calls['teller']).toBe(4)
})

test('creates a session if none is named and sends its id first; the server context is not sent', async () => {
  const { backend } = await pageOf('teller', { context: () => ({ secret: 'sesame' }) })
  const url = `${backend.url}/api/kortyx/teller`
  const reply = await post(url, { messages: [{ role: 'user', content: 'hi' }], context: { locale: 'de' } })
  const { headers } = reply
  expect(['content-type', 'cache-control', 'x-accel-buffering'].map(name => headers.get(name))).toEqual([
    'text/event-stream',
    'no-cache, no-transform',
    'no',
  ])
  const text = await reply.text()
  const sessionId = headers.get('x-session-id')
  expect(text.startsWith(`data: {"type":"session","sessionId":"${sessionId}"`)).toBe(true)
  expect(text.endsWith('"data":{"status":"completed"},"millrace":null}\n\ndata: [DONE]\n\n')).toBe(true)
  expect(text).not.toContain('sesame')
  expect(text).not.toContain('\r')
  // The context of a page is input of its run.
  const requested = (await backend.entries(sessionId ?? '')).find(({ chunk }) => chunk.type === 'run-requested')
  expect(requested?.chunk).toMatchObject({ data: { context: { locale: 'de' } } })
})

test('without streaming the response is one JSON object: chunks, text and structured data', async () => {
  const { backend } = await pageOf('weigher')
  const ask = async (program: string, sessionId: string) => {
    const body = { sessionId, stream: false, messages: [{ role: 'user', content: 'go' }] }
    const reply = await post(`${backend.url}/api/kortyx/${program}`, body)
    return (await reply.json()) as { chunks: { type: string }[]; text: string; structured: { kind: string }[] }
  }
  const { chunks, text } = await ask('weigher', 'w')
  expect(text).toBe('I weigh both. Oats are heavier.')
  expect([chunks[0]?.type, chunks.at(-1)?.type]).toEqual(['session', 'done'])
  expect((await ask('painter', 'p')).structured.map(({ kind }) => kind)).toEqual(['set', 'append', 'final'])
})
