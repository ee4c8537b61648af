import type { StreamEvent } from '@millrace/dialects/helix'
import { decodeCursor } from '@millrace/protocol'
import { expect, test } from 'vitest'
import { INVENTORY, openBackend } from '../backend.fixture.ts'
import { chunksIn, HelixClient, ofType, readAllEvents, readEvents, textOf } from './helix-client.fixture.ts'

const typesOf = (received: readonly StreamEvent[]) => chunksIn(received).map(({ type }) => type)

test('receives text and thinking, complete at its end, and a second turn in the same stream', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'teller')
  const first = await client.sendMessage('hi')
  expect(textOf(first)).toBe('You said: hi')
  const thinking = ofType(first, 'thinking')
  expect(thinking.flatMap(({ isComplete, content }) => (isComplete ? [] : [content])).join('')).toBe(
    'What did they say?',
  )
  expect(thinking.at(-1)).toMatchObject({ content: 'What did they say?', isComplete: true })
  expect(first.at(-1)).toEqual({ type: 'end' })
  const second = await client.sendMessage('again')
  expect(textOf(second)).toBe('You said: again')
  const everything = await readAllEvents(await client.follow())
  expect(textOf(everything)).toBe('You said: hiYou said: again')
  // Step numbers restart with each turn, sequences do not.
  expect(ofType(everything, 'step_start').map(({ step }) => step)).toEqual([1, 1])
  const sequences = everything.flatMap(event => (event.type === 'chunk' && event.sequence ? [event.sequence] : []))
  expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b))
  expect(new Set(ofType(everything, 'text_delta').map(({ agentType }) => agentType))).toEqual(new Set(['teller']))
})

test('a start takes one message and rejects a body with a history', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'teller')
  await client.sendMessage('hi')
  const before = (await backend.view('s')).messages
  const messages = [{ id: before[0]?.id, role: 'user', content: 'ho' }]
  const reply = await client.post('start', { message: 'again', messages })
  expect([reply.status, await reply.json()]).toMatchObject([400, { error: { code: 'body_invalid' } }])
  expect((await backend.view('s')).messages).toEqual(before)
})

test('receives parallel tools with streamed input, state, data and steps', async () => {
  const backend = await openBackend()
  const received = await new HelixClient(backend.url, 'weigher').sendMessage('weigh')
  const typesWith = (id: string) => typesOf(received.filter(event => JSON.stringify(event).includes(id)))
  for (const item of ['rye', 'oats']) {
    const { toolCallId } =
      ofType(received, 'tool_arg_stream_start').find(event => event.toolCallId.endsWith(item)) ?? {}
    const types = typesWith(`"toolCallId":"${toolCallId}"`).filter(type => type.startsWith('tool_'))
    const written = types.filter(type => type === 'tool_arg_stream_delta')
    expect(types).toEqual(['tool_arg_stream_start', ...written, 'tool_arg_stream_end', 'tool_start', 'tool_end'])
  }
  expect(ofType(received, 'tool_end')).toMatchObject([
    { toolName: 'weigh', result: { what: 'rye', kilos: 4 }, providerExecuted: true },
    { toolName: 'weigh', result: { what: 'oats', kilos: 6 }, providerExecuted: true },
  ])
  expect(ofType(received, 'state_patch').map(({ patches }) => patches)).toEqual([
    [{ op: 'replace', path: '', value: {} }],
    [{ op: 'add', path: '/rye', value: 4 }],
    [{ op: 'add', path: '/oats', value: 6 }],
  ])
  expect(
    ofType(received, 'custom')
      .map(({ eventName }) => eventName)
      .sort(),
  ).toEqual(['creak', 'creak', 'scale', 'scale'])
  expect(ofType(received, 'step_end')).toMatchObject([{ finishReason: 'tool-calls' }, { finishReason: 'stop' }])
  expect(ofType(received, 'step_committed').map(({ step }) => step)).toEqual([1, 2])
  expect(ofType(received, 'checkpoint_created').length).toBeGreaterThan(2)
})

test.each([
  ['an approval', true],
  ['a denial', false],
])('continues the open stream after %s', async (_, approved) => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'seller')
  const received = await client.sendMessage('sell')
  const [request] = ofType(received, 'tool_approval_request')
  expect(request).toMatchObject({ toolName: 'sell', input: { what: 'flour' } })
  expect(request?.approvalId).toBe(`${request?.agentId}::${request?.toolCallId}`)
  expect(ofType(received, 'run_paused')).toMatchObject([
    { pendingToolName: 'sell', pendingToolCallId: request?.toolCallId },
  ])
  expect(received.at(-1)).toEqual({ type: 'status', status: 'paused' })
  expect(await client.snapshot()).toMatchObject({ status: 'paused' })

  const after = await client.snapshot()
  const following = client.follow(after.streamSequence)
  const answer = { kind: 'approval-response', approvalId: request?.approvalId, approved, reason: 'so be it' }
  expect(await client.submit(answer)).toMatchObject({ status: 200, json: { status: 'accepted' } })
  const rest = await readAllEvents(await following)
  expect(ofType(rest, 'tool_approval_response')).toMatchObject([{ toolName: 'sell', approved, reason: 'so be it' }])
  expect(ofType(rest, 'tool_end')).toMatchObject([
    approved ? { result: { sold: 'flour' } } : { result: null, error: 'so be it', errorCode: 'tool_denied' },
  ])
  expect(ofType(rest, 'run_resumed')).toHaveLength(1)
  expect(textOf(rest)).toBe('So much for the flour.')
  // No discard, so no resync.
  expect(ofType(rest, 'stream_resync')).toEqual([])
  expect(rest.at(-1)).toEqual({ type: 'end' })
  // Repeating the answer returns the same result. Another answer is a conflict.
  expect((await client.submit(answer)).json.status).toBe('accepted')
  expect((await client.submit({ ...answer, approved: !approved })).json.status).toBe('already_completed')
})

test('a client tool accepts only its result', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'guide')
  const received = await client.sendMessage('where')
  const [{ toolCallId = '' } = {}] = ofType(received, 'tool_start')
  expect(ofType(received, 'tool_end')).toEqual([])
  const forged = { kind: 'approval-response', approvalId: `r::${toolCallId}`, approved: true }
  expect((await client.submit(forged)).status).toBe(404)
  expect((await client.submit({ ...forged, approvalId: toolCallId })).json.error?.code).toBe('answer_wrong_kind')
  expect((await client.submit({ kind: 'client-tool-result', toolCallId, result: { town: 1 } })).status).toBe(400)
  const { streamSequence } = await client.snapshot()
  expect(await client.submit({ kind: 'client-tool-result', toolCallId, result: { city: 'Ulm' } })).toMatchObject({
    json: { status: 'accepted', continuation: 'automatic' },
  })
  const rest = await readAllEvents(await client.follow(streamSequence))
  expect(ofType(rest, 'tool_end')).toMatchObject([
    { toolName: 'locate', result: { city: 'Ulm' }, providerExecuted: false },
  ])
  expect(textOf(rest)).toBe('Now I know.')
})

test('a failed client tool ends once, with its error', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'guide')
  const [{ toolCallId = '' } = {}] = ofType(await client.sendMessage('where'), 'tool_start')
  await client.submit({ kind: 'client-tool-result', toolCallId, error: 'no signal', errorCode: 'aborted' })
  const rest = await readAllEvents(await client.follow())
  expect(ofType(rest, 'tool_end')).toMatchObject([
    { error: 'no signal', errorCode: 'aborted', providerExecuted: false },
  ])
  expect(ofType(rest, 'tool_output_error')).toEqual([])
})

test('rejects a result for a call that waits for approval, and takes an error as a denial', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'seller')
  const [{ toolCallId = '' } = {}] = ofType(await client.sendMessage('sell'), 'tool_approval_request')
  const before = (await backend.entries('s')).length
  const forged = await client.submit({ kind: 'client-tool-result', toolCallId, result: { sold: 'everything' } })
  expect([forged.status, forged.json.error?.code]).toEqual([400, 'answer_wrong_kind'])
  expect((await backend.entries('s')).length).toBe(before)
  expect((await client.submit({ kind: 'client-tool-result', toolCallId, error: 'closed' })).json.status).toBe(
    'accepted',
  )
  const rest = await readAllEvents(await client.follow())
  expect(ofType(rest, 'tool_approval_response')).toMatchObject([{ approved: false, reason: 'closed' }])
})

test('a tool that fails ends once, with its error', async () => {
  const backend = await openBackend()
  const received = await new HelixClient(backend.url, 'breaker').sendMessage('break')
  expect(ofType(received, 'tool_end')).toMatchObject([{ toolName: 'broken', result: null, providerExecuted: true }])
  expect(ofType(received, 'tool_end')[0]?.error).toBe('broken failed')
  expect(ofType(received, 'tool_output_error')).toEqual([])
})

test('a structured output is an event of the stream and a field of its end', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'lister')
  const received = await client.sendMessage('list')
  expect(ofType(received, 'output')).toMatchObject([{ output: INVENTORY }])
  expect(received.at(-1)).toEqual({ type: 'end', finalOutput: INVENTORY })
  expect(await client.snapshot()).toMatchObject({ status: 'ended', output: INVENTORY })
  // The end also contains it if no entries are left to read.
  const { streamSequence } = await client.snapshot()
  expect(await readAllEvents(await client.follow(streamSequence))).toEqual([{ type: 'end', finalOutput: INVENTORY }])
})

test('receives sources, files and a provider-executed tool', async () => {
  const backend = await openBackend()
  const received = await new HelixClient(backend.url, 'librarian').sendMessage('sources')
  expect(ofType(received, 'source_url')).toMatchObject([{ url: 'https://example.test/mill', title: 'The mill' }])
  expect(ofType(received, 'source_document')).toMatchObject([
    { mediaType: 'text/plain', title: 'Notes', filename: 'notes.txt' },
  ])
  expect(ofType(received, 'file')).toMatchObject([{ mediaType: 'image/png' }])
  const searched = await new HelixClient(backend.url, 'searcher', 'p').sendMessage('search')
  expect(ofType(searched, 'tool_end')).toMatchObject([{ toolName: 'web', result: { hits: 2 }, providerExecuted: true }])
})

test('sub-agent chunks have their own agent and the id of their call', async () => {
  const backend = await openBackend()
  const received = await new HelixClient(backend.url, 'boss').sendMessage('count')
  const [start] = ofType(received, 'subagent_start')
  const [end] = ofType(received, 'subagent_end')
  expect(start).toMatchObject({
    subAgentType: 'counted',
    agentType: 'boss',
    callId: ofType(received, 'tool_start')[0]?.toolCallId,
  })
  expect(end).toMatchObject({ subSessionId: start?.subSessionId, result: 'Counted: sacks' })
  const childDeltas = ofType(received, 'text_delta').filter(({ agentId }) => agentId === start?.subSessionId)
  expect(childDeltas.map(({ delta }) => delta).join('')).toBe('Counted: sacks')
  expect(new Set(childDeltas.map(({ agentType }) => agentType))).toEqual(new Set(['counted']))
})

test('an error in the middle of an answer keeps the text and fails the stream', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'stumbler')
  const received = await client.sendMessage('go')
  expect(textOf(received)).toBe('It began well')
  expect(ofType(received, 'error')).toMatchObject([{ code: 'provider_invalid_request', recoverable: false }])
  expect(received.at(-1)).toEqual({ type: 'fail', error: ofType(received, 'error')[0]?.error })
  expect(await client.snapshot()).toMatchObject({ status: 'failed' })
})

test('interrupts of workflows and structured data are custom chunks', async () => {
  const backend = await openBackend()
  const received = await new HelixClient(backend.url, 'asker').sendMessage('ask')
  const added = received.flatMap(event =>
    event.type === 'chunk' && event.chunk.type === 'custom' && event.chunk.eventName === 'millrace'
      ? [(event.chunk.data as { chunk: { type: string } }).chunk.type]
      : [],
  )
  expect(added).toContain('interrupt')
  expect(received.at(-1)).toEqual({ type: 'status', status: 'paused' })
  const painted = await new HelixClient(backend.url, 'painter', 'p').sendMessage('paint')
  expect(JSON.stringify(painted)).toContain('"structured-data"')
  expect(textOf(painted)).toBe('Painted.')
})

test('answers an interrupt with `response`', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'asker')
  const received = await client.sendMessage('ask')
  const [interruptId] = received.flatMap(event => {
    const data = event.type === 'chunk' && event.chunk.type === 'custom' ? event.chunk.data : undefined
    const { chunk } = (data ?? {}) as { chunk?: { type: string; interruptId?: string } }
    return chunk?.type === 'interrupt' ? [chunk.interruptId] : []
  })
  const answer = { kind: 'interrupt-response', interruptId }
  expect(await client.submit({ ...answer, value: 'oats' })).toMatchObject({ status: 400 })
  expect(await client.submit({ ...answer, response: 'oats' })).toMatchObject({
    status: 200,
    json: { status: 'accepted' },
  })
})

test('runs a repeated request once', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'teller')
  const [one, other] = await Promise.all([
    client.sendMessage('hi', { messageId: 'm1' }),
    client.sendMessage('hi', { messageId: 'm1' }),
  ])
  await client.sendMessage('hi', { messageId: 'm1' })
  expect(textOf(one)).toBe(textOf(other))
  expect(backend.calls['teller']).toBe(1)
  // Without an id, a request joins an equal run that is open.
  const held = new HelixClient(backend.url, 'holder', 'h')
  const first = await held.post('start', { message: 'hi' }, 'text/event-stream')
  await backend.gate.reached
  const again = await held.post('start', { message: 'hi' }, 'text/event-stream')
  backend.gate.open()
  expect(textOf(await readAllEvents(again))).toBe('one two three four')
  expect(textOf(await readAllEvents(first))).toBe('one two three four')
  expect(backend.calls['holder']).toBe(1)
})

test('returns the location of the stream if the client accepts only JSON', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'teller')
  const response = await client.post('start', { message: 'hi' })
  expect(response.status).toBe(202)
  const { runId, streamSequence, streamId } = (await response.json()) as Record<string, unknown>
  expect([streamId, response.headers.get('x-session-id'), response.headers.get('x-run-id')]).toEqual(['s', 's', runId])
  const received = await readAllEvents(await client.follow(streamSequence as number))
  expect(textOf(received)).toBe('You said: hi')
  expect(new Set(chunksIn(received).map(({ agentId }) => agentId))).toEqual(new Set([runId]))
})

test('the id of every event, including the end, is a cursor that begins with its sequence', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'teller')
  await client.sendMessage('hi')
  let last: string | undefined
  for await (const { id, event } of readEvents(await client.follow())) {
    if (event.type === 'chunk' && event.sequence !== undefined) {
      expect(decodeCursor(id ?? '')).toMatchObject({ sequence: event.sequence, incarnation: expect.any(String) })
      expect(Number.parseInt(id ?? '', 10)).toBe(event.sequence)
    }
    last = id ?? last
  }
  expect(decodeCursor(last ?? '').sequence).toBe((await client.snapshot()).streamSequence)
})
