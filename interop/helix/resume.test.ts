import type { StreamEvent } from '@millrace/dialects/helix'
import { agent, ProviderError, scriptedModel, tool } from '@millrace/runtime'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { proxy } from '../../scripts/faults/proxy.ts'
import { type Backend, Gate, openBackend } from '../backend.fixture.ts'
import { chunksIn, HelixClient, ofType, readAllEvents, readEvents, textOf } from './helix-client.fixture.ts'

const post = (backend: Backend, path: string, body: object) =>
  fetch(`${backend.url}/api/sessions/s/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(body),
  })

/** Reads events up to and including a matching one. */
async function until(received: AsyncGenerator<{ readonly event: StreamEvent }>, isIt: (event: StreamEvent) => boolean) {
  const before: StreamEvent[] = []
  for (;;) {
    const { value, done } = await received.next()
    if (done) throw new Error('the stream ended before the expected event')
    before.push(value.event)
    if (isIt(value.event)) return before
  }
}

const rest = async (received: AsyncGenerator<{ readonly event: StreamEvent }>) => {
  const after: StreamEvent[] = []
  for await (const { event } of received) after.push(event)
  return after
}

const says = (text: string) => (event: StreamEvent) =>
  event.type === 'chunk' && event.chunk.type === 'text_delta' && event.chunk.delta.includes(text)

/** A backend with one agent that fails its first attempt when the gate opens. */
async function stammering(gate: Gate): Promise<Backend> {
  const model = scriptedModel(({ options }) => {
    const isFirst = Number(options.providerOptions?.['millrace']?.['attempt']) === 1
    return isFirst ? { text: 'I mean, er,' } : { text: 'The wheel turns.' }
  })
  const { doStream } = model
  const held = {
    ...model,
    doStream: async (options: Parameters<typeof doStream>[0]) => {
      const { stream, ...more } = await doStream.call(model, options)
      if (Number(options.providerOptions?.['millrace']?.['attempt']) !== 1) return { stream, ...more }
      const failing = stream.pipeThrough(
        new TransformStream({
          async transform(part, controller) {
            if (part.type !== 'finish') return controller.enqueue(part)
            await gate.pass()
            throw new ProviderError('provider_overloaded', 'overloaded', { retryable: true })
          },
        }),
      )
      return { stream: failing, ...more }
    },
  }
  return openBackend({ agents: [agent({ name: 'flaky', model: held })], workflows: [] })
}

test('law 3: live readers get a discard with its position, and late readers never see the draft', async () => {
  const gate = new Gate()
  const backend = await stammering(gate)
  const client = new HelixClient(backend.url, 'flaky')
  const received = readEvents(await client.post('start', { message: 'hi' }, 'text/event-stream'))
  const before = await until(received, says('er,'))
  gate.open()
  const after = await rest(received)
  const [discarded] = ofType(after, 'step_discarded')
  const [resync] = ofType(after, 'stream_resync')
  expect(discarded).toMatchObject({ reason: 'provider_overloaded', stepId: '1', step: 1 })
  const entries = await backend.entries('s')
  const started = entries.find(({ chunk }) => chunk.type === 'run-started')
  expect(resync).toMatchObject({
    reason: 'retry',
    fromSequence: started?.sequence,
    stepCount: 0,
    messageCount: 1,
    checkpointId: '',
  })
  expect(textOf(before) + textOf(after)).toBe('I mean, er,The wheel turns.')
  const replay = await readAllEvents(await client.follow())
  expect(textOf(replay)).toBe('The wheel turns.')
  expect(ofType(replay, 'stream_resync')).toEqual([])
  // A reader that had received the draft gets the discard when it reconnects.
  const deltas = before.flatMap(event => (event.type === 'chunk' && event.sequence ? [event.sequence] : []))
  const back = await readAllEvents(await client.follow(deltas.at(-1)))
  expect(ofType(back, 'stream_resync')).toEqual([resync])
  expect(textOf(back)).toBe('The wheel turns.')
})

test.each([
  ['an edit', 'branch', 'edit', { messageId: 'm1', input: 'anew' }, 'You said: anew'],
  ['a retried turn', 'retry', 'retry', {}, 'You said: hi'],
])('law 3: %s is sent as a rewind', async (_, reason, path, body, text) => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'teller')
  await client.sendMessage('hi', { messageId: 'm1' })
  const { streamSequence } = await client.snapshot()
  const held = await fetch(`${backend.url}/api/helix/teller/status?sessionId=s`)
  expect(await held.json()).toMatchObject({ status: 'ended', streamSequence })
  expect((await post(backend, path, body)).status).toBe(202)
  const after = await readAllEvents(await client.follow(streamSequence))
  const cuts = (await backend.entries('s')).flatMap(({ chunk }) => (chunk.type === 'rewind' ? [chunk.toSequence] : []))
  expect(ofType(after, 'stream_resync')).toMatchObject([
    { reason, fromSequence: cuts[0], messageCount: 0, stepCount: 0 },
  ])
  expect(textOf(after)).toBe(text)
  const replay = await readAllEvents(await client.follow())
  expect(ofType(replay, 'stream_resync')).toEqual([])
  expect(textOf(replay)).toBe(text)
  expect((await client.snapshot()).messages).toHaveLength(2)
})

test('the retry route repeats the turn, once per idempotency key', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'teller')
  await client.sendMessage('hi')
  const again = await readAllEvents(await client.post('retry', {}, 'text/event-stream'))
  expect(textOf(again)).toBe('You said: hi')
  expect(ofType(again, 'stream_resync')).toMatchObject([{ reason: 'retry' }])
  expect(backend.calls['teller']).toBe(2)
  // With an idempotency key it stays the same run after its end.
  const named = () =>
    fetch(`${backend.url}/api/helix/teller/retry`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'again' },
      body: JSON.stringify({ sessionId: 's' }),
    })
  expect(await (await named()).json()).toMatchObject({ runId: 'again' })
  await readAllEvents(await client.follow())
  expect(await (await named()).json()).toMatchObject({ runId: 'again' })
  await readAllEvents(await client.follow())
  expect(backend.calls['teller']).toBe(3)
})

test('law 2: reading from any sequence returns the rest completely and once', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'weigher')
  await client.sendMessage('weigh')
  await client.sendMessage('again')
  const allEvents: { id: string | undefined; text: string }[] = []
  // Resuming readers get transient chunks, readers from the beginning do not.
  for await (const { id, event } of readEvents(await client.follow(1)))
    allEvents.push({ id, text: JSON.stringify(event) })
  const ids = allEvents.map(({ id }) => id)
  for (const [i, { id }] of allEvents.entries()) {
    // If an entry becomes several chunks, only the last has the sequence, so that no reader resumes in between.
    if (id === undefined || allEvents[i]?.text.startsWith('{"type":"end"')) continue
    const from: string[] = []
    for await (const { event } of readEvents(await client.follow(id))) from.push(JSON.stringify(event))
    expect([id, from]).toEqual([id, allEvents.slice(ids.lastIndexOf(id) + 1).map(({ text }) => text)])
  }
})

test('resumes after a cut in the middle of an answer without loss or repetition', async () => {
  const backend = await openBackend()
  const faulty = await proxy(backend.url)
  onTestFinished(() => faulty.stop())
  const client = new HelixClient(backend.url, 'holder')
  const cut = new HelixClient(faulty.url(backend.url).replace(/\/$/, ''), 'holder')
  const received: StreamEvent[] = []
  let last: string | undefined
  let isWhole = false
  try {
    for await (const { id, event } of readEvents(await cut.post('start', { message: 'hi' }, 'text/event-stream'))) {
      received.push(event)
      last = id ?? last
      isWhole = event.type === 'end'
      if (says('two')(event)) faulty.cut()
    }
  } catch {
    // The socket is gone.
  }
  // A stream without an end is a dropped connection (law 7).
  expect(isWhole).toBe(false)
  const following = client.follow(last)
  backend.gate.open()
  const after = await readAllEvents(await following)
  expect(textOf(received) + textOf(after)).toBe('one two three four')
  expect(after.at(-1)).toEqual({ type: 'end' })
  expect(backend.calls['holder']).toBe(1)
})

test('reads a snapshot in the middle of an answer and continues after it', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'holder')
  const following = client.sendMessage('hi')
  await backend.gate.reached
  const { messages, status, streamSequence } = await client.snapshot()
  expect(status).toBe('active')
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  const partial = messages[1]?.parts.find(({ type }) => type === 'text')
  backend.gate.open()
  const after = await readAllEvents(await client.follow(streamSequence))
  expect(`${partial?.text ?? ''}${textOf(after)}`).toBe('one two three four')
  await following
})

test('resumes from X-Resume-From-Sequence, else from Last-Event-ID; a reconnect without discards sends no resync', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'teller')
  await client.sendMessage('hi')
  const { streamSequence: end, messages } = await client.snapshot()
  const one = await readAllEvents(await client.get('sse', { 'X-Resume-From-Sequence': `${end}`, 'Last-Event-ID': '0' }))
  expect(one).toEqual([{ type: 'end' }])
  const other = await readAllEvents(await client.get('sse', { 'Last-Event-ID': '4' }))
  expect(textOf(other)).toBe('You said: hi')
  expect(ofType(other, 'stream_resync')).toEqual([])
  const id = encodeURIComponent(messages[1]?.id ?? '')
  const response = await client.get('sse', { 'X-Existing-Message-Id': id })
  expect(response.headers.get('x-existing-message-id')).toBe(id)
  await response.body?.cancel()
  expect((await client.get('sse', { 'X-Existing-Message-Id': 'unknown' })).status).toBe(409)
})

test('law 2: a sequence that the log does not have is reported as truncated', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'teller')
  await client.sendMessage('hi')
  expect(await readAllEvents(await client.follow(9999))).toEqual([{ type: 'truncated', truncatedAtStep: 1 }])
})

test('an interrupted run keeps its text and can be resumed, an aborted one cannot', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'holder')
  const received = readEvents(await client.post('start', { message: 'hi' }, 'text/event-stream'))
  const before = await until(received, says('two'))
  expect((await client.post('interrupt', { reason: 'enough' })).status).toBe(200)
  const after = await rest(received)
  expect(textOf(before) + textOf(after)).toBe('one two ')
  expect(ofType(after, 'run_interrupted')).toMatchObject([{ reason: 'enough' }])
  expect(after.at(-1)).toEqual({ type: 'end' })
  expect((await client.snapshot()).messages[1]?.parts).toMatchObject([{ type: 'step-start' }, { text: 'one two ' }])
  backend.gate.open()
  const resumed = await readAllEvents(await client.post('resume', { mode: 'continue' }, 'text/event-stream'))
  expect(ofType(resumed, 'run_resumed')).toMatchObject([{ mode: 'continue', fromStepCount: 0 }])
  expect(resumed.at(-1)).toEqual({ type: 'end' })

  backend.gate = new Gate()
  const waiting = new HelixClient(backend.url, 'seller', 'w')
  await waiting.sendMessage('sell')
  const { streamSequence } = await waiting.snapshot()
  await waiting.post('abort')
  const aborted = await readAllEvents(await waiting.follow(streamSequence))
  expect(aborted.at(-1)).toEqual({ type: 'fail', error: 'The run was aborted.' })
  const refused = await waiting.post('resume', { mode: 'continue' })
  expect(refused.status).toBe(409)
})

test('a resume from a checkpoint of an earlier turn cuts the later turns', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'weigher')
  const checkpoints: string[][] = []
  for (const message of ['weigh', 'again', 'once more'])
    checkpoints.push(
      ofType(await client.sendMessage(message), 'step_committed').map(({ checkpointId }) => checkpointId),
    )
  const [[checkpointId = ''] = [], ...later] = checkpoints
  const { streamSequence } = await client.snapshot()
  const body = { mode: 'from_checkpoint', checkpointId }
  const resumed = await readAllEvents(await client.post('resume', body, 'text/event-stream'))
  expect(ofType(resumed, 'stream_resync')).toMatchObject([{ reason: 'rollback', checkpointId, stepCount: 1 }])
  expect(ofType(resumed, 'run_resumed')).toMatchObject([
    { mode: 'from_checkpoint', fromCheckpointId: checkpointId, fromStepCount: 1 },
  ])
  expect(resumed.at(-1)).toEqual({ type: 'end' })
  // A reader that had all turns gets the notice, too.
  expect(ofType(await readAllEvents(await client.follow(streamSequence)), 'stream_resync')).toHaveLength(1)
  const { messages } = await client.snapshot()
  expect(messages.filter(({ role }) => role === 'user').map(({ parts }) => parts[0]?.text)).toEqual(['weigh'])
  expect(textOf(await readAllEvents(await client.follow()))).toBe('I weigh both.Oats are heavier.')
  // The cut turns have no checkpoints any more.
  for (const id of [...later.flat(), 'none']) {
    const refused = await client.post('resume', { mode: 'from_checkpoint', checkpointId: id })
    expect([id, refused.status]).toEqual([id, 409])
  }
})

test.each([
  ['with_confirmation', { confirmed: true }, 'output-available'],
  ['with_confirmation', { confirmed: false }, 'output-denied'],
])('a resume of a paused run tells its mode and its checkpoint: %s %o', async (mode, more, state) => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'seller')
  const before = await client.sendMessage('sell')
  const [checkpoint] = ofType(before, 'checkpoint_created')
  const { streamSequence } = await client.snapshot()
  expect((await client.post('resume', { mode, ...more })).status).toBe(202)
  const resumed = await readAllEvents(await client.follow(streamSequence))
  const { checkpointId = '', stepCount = 0 } = checkpoint ?? {}
  expect(ofType(resumed, 'run_resumed')).toMatchObject([
    { mode, fromCheckpointId: checkpointId, fromStepCount: stepCount },
  ])
  expect([checkpointId, stepCount]).toEqual([expect.stringContaining('/main/'), 1])
  expect(
    (await client.snapshot()).messages[1]?.parts.find(part => 'state' in part && part.state === state),
  ).toBeDefined()
})

test('a paused run that an answer resumes names its checkpoint, in the mode continue', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'guide')
  const before = await client.sendMessage('where')
  const [{ toolCallId } = { toolCallId: '' }] = ofType(before, 'tool_start')
  const [checkpoint] = ofType(before, 'checkpoint_created')
  const { streamSequence } = await client.snapshot()
  await client.submit({ kind: 'client-tool-result', toolCallId, result: { city: 'Ulm' } })
  expect(ofType(await readAllEvents(await client.follow(streamSequence)), 'run_resumed')).toMatchObject([
    { mode: 'continue', fromCheckpointId: checkpoint?.checkpointId, fromStepCount: 1 },
  ])
})

test('resuming a paused or running run joins it', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'seller')
  const [{ approvalId } = { approvalId: '' }] = ofType(await client.sendMessage('sell'), 'tool_approval_request')
  expect((await client.post('resume', { mode: 'continue' })).status).toBe(202)
  await client.submit({ kind: 'approval-response', approvalId, approved: true })
  expect(textOf(await readAllEvents(await client.follow()))).toBe('May I?So much for the flour.')
  expect(backend.calls['seller']).toBe(2)
})

test('followers are notified of pause and continuation', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'guide')
  const [{ toolCallId } = { toolCallId: '' }] = ofType(await client.sendMessage('where'), 'tool_start')
  const received = readEvents(await client.follow())
  await until(received, event => event.type === 'status' && event.status === 'paused')
  await client.submit({ kind: 'client-tool-result', toolCallId, result: { city: 'Ulm' } })
  const after = await rest(received)
  expect(after.filter(({ type }) => type === 'status')).toEqual([{ type: 'status', status: 'active' }])
  expect(chunksIn(after).at(-1)?.type).toBe('step_committed')
})

test('cancelling a queued message ends the stream of its sender', async () => {
  const backend = await openBackend()
  const client = new HelixClient(backend.url, 'holder')
  const first = await client.post('start', { message: 'hi' }, 'text/event-stream')
  await backend.gate.reached
  const second = await client.post('start', { message: 'and then?' }, 'text/event-stream')
  const runId = decodeURIComponent(second.headers.get('x-run-id') ?? '')
  await client.post('abort', { runId, reason: 'never mind' })
  const received = await readAllEvents(second)
  expect(received.at(-1)).toMatchObject({ type: 'fail' })
  backend.gate.open()
  expect(textOf(await readAllEvents(first))).toBe('one two three four')
  expect(backend.calls['holder']).toBe(1)
})

test('large values are complete in the stream and in the snapshot', async () => {
  const grain = 'grain '.repeat(50_000)
  const dump = tool({ name: 'dump', inputSchema: z.object({}), execute: () => ({ grain }) })
  const model = scriptedModel(({ turnAnswers }) =>
    turnAnswers === 0 ? { calls: [{ name: 'dump', input: {} }] } : { text: 'There.' },
  )
  const backend = await openBackend({ agents: [agent({ name: 'dumper', model, tools: [dump] })], workflows: [] })
  const client = new HelixClient(backend.url, 'dumper')
  const received = await client.sendMessage('dump')
  expect(ofType(received, 'tool_end')).toMatchObject([{ result: { grain } }])
  const { messages } = await client.snapshot()
  const call = messages[1]?.parts.find(({ type }) => type === 'tool-dump')
  expect(call).toMatchObject({ state: 'output-available', output: { grain }, providerExecuted: true })
})

test('law 2: a reader that reconnects at any position after a discard receives it', async () => {
  const gate = new Gate()
  const backend = await stammering(gate)
  const client = new HelixClient(backend.url, 'flaky')
  const received = readEvents(await client.post('start', { message: 'hi' }, 'text/event-stream'))
  await until(received, says('er,'))
  gate.open()
  await rest(received)
  const entries = await backend.entries('s')
  const draftStarts = entries.filter(({ chunk }) => chunk.type === 'step-start').map(({ sequence }) => sequence)
  const discard = entries.find(({ chunk }) => chunk.type === 'step-discarded')?.sequence ?? 0
  for (let after = 0; after <= entries.length; after++) {
    const had = draftStarts.some(sequence => sequence <= after && sequence < discard)
    const from = await readAllEvents(await client.follow(after))
    expect([after, ofType(from, 'stream_resync').length]).toEqual([after, had && after < discard ? 1 : 0])
  }
})
