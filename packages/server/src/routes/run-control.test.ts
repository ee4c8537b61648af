import { describe, expect, it } from 'vitest'
import { framesIn, openTwoUserServer, type ReadReply, type TwoUserServer } from '../routing/two-user-server.fixture.ts'

const NDJSON = { accept: 'application/x-ndjson' }
const errorOf = ({ status, json }: ReadReply) => [
  status,
  (json as { error?: { code: string } } | undefined)?.error?.code,
]

const textsOf = async (testServer: TwoUserServer) => {
  const { view } = await (await testServer.app.runtime()).view('s')
  return view.messages.map(({ parts }) => parts.map(part => ('text' in part ? part.text : '')).join(''))
}

/** Starts a run that waits in the middle. */
async function waiting(testServer: TwoUserServer) {
  const body = { agent: 'slow', input: 'Wait', runId: 'r1', messageId: 'm1' }
  await testServer.post('/api/sessions/s/runs', body, { headers: { accept: 'application/json' } })
  const run = (await testServer.app.runtime()).run('s', 'r1')
  for await (const { chunk } of run.stream()) if (chunk.type === 'text-delta') break
  return run
}

describe('stop', () => {
  it('stops the open run and names it; a repetition gets the same reply, a late one stopped: false', async () => {
    const testServer = openTwoUserServer()
    const run = await waiting(testServer)
    expect(await testServer.post('/api/sessions/s/stop', {})).toEqual({ runId: 'r1', stopped: true })
    expect(await run.result()).toMatchObject({ status: 'interrupted', text: 'one' })
    expect(await testServer.post('/api/sessions/s/stop', { runId: 'r1' })).toEqual({ runId: 'r1', stopped: true })
    const more = { runId: 'r1', mode: 'abort' }
    expect(await testServer.post('/api/sessions/s/stop', more)).toEqual({ runId: 'r1', stopped: false })
    expect(await testServer.post('/api/sessions/s/stop', {})).toEqual({ stopped: false })
    expect(errorOf(await testServer.send({ path: '/api/sessions/s/stop', body: { runId: 'r2' } }))).toEqual([
      404,
      'run_unknown',
    ])
  })

  it('aborts a run, or removes a queued request', async () => {
    const testServer = openTwoUserServer()
    const run = await waiting(testServer)
    const queued = { agent: 'echo', input: 'Hello', runId: 'r2', whenBusy: 'queue' }
    await testServer.post('/api/sessions/s/runs', queued, { headers: { accept: 'application/json' } })
    expect(await testServer.post('/api/sessions/s/stop', { runId: 'r2' })).toEqual({ runId: 'r2', stopped: true })
    expect(await testServer.post('/api/sessions/s/stop', { mode: 'abort', reason: 'enough' })).toEqual({
      runId: 'r1',
      stopped: true,
    })
    expect(await run.result()).toMatchObject({ status: 'aborted' })
    expect(await textsOf(testServer)).toEqual(['Wait', 'one'])
  })
})

describe('resume', () => {
  it('continues an interrupted run with a new run, and names it', async () => {
    const testServer = openTwoUserServer()
    const run = await waiting(testServer)
    const early = await testServer.send({ path: '/api/sessions/s/resume', body: { mode: 'continue' } })
    expect(errorOf(early)).toEqual([409, 'run_busy'])
    await testServer.post('/api/sessions/s/stop', {})
    await run.result()
    testServer.slow.go()
    const body = { mode: 'with-message', message: 'Go on', runId: 'r2' }
    const reply = await testServer.send({ path: '/api/sessions/s/resume', body })
    expect([reply.status, reply.json]).toEqual([202, { sessionId: 's', runId: 'r2', sequence: expect.any(Number) }])
    expect((await (await testServer.app.runtime()).run('s', 'r2').result()).status).toBe('completed')
    const again = await testServer.send({ path: '/api/sessions/s/resume', body: { ...body, resumes: 'r1' } })
    expect(again.json).toEqual(reply.json)
    const other = { ...body, resumes: 'r1', message: 'Stop' }
    expect(errorOf(await testServer.send({ path: '/api/sessions/s/resume', body: other }))).toEqual([409, 'run_ended'])
    const late = { mode: 'continue', resumes: 'r1' }
    expect(errorOf(await testServer.send({ path: '/api/sessions/s/resume', body: late }))).toEqual([
      409,
      'run_not_resumable',
    ])
  })

  it('continues from an existing checkpoint', async () => {
    const testServer = openTwoUserServer()
    await testServer.run('s', { agent: 'operator', input: 'Do it', runId: 'r1' })
    const path = '/api/sessions/s/resume'
    const early = { mode: 'from-checkpoint', checkpointId: 'r1/main/1+' }
    expect(errorOf(await testServer.send({ path, body: early }))).toEqual([409, 'run_busy'])
    await testServer.post('/api/sessions/s/stop', { mode: 'abort' })
    await (await testServer.app.runtime()).run('s', 'r1').result()
    const wrong = { mode: 'from-checkpoint', checkpointId: 'nobody' }
    expect(errorOf(await testServer.send({ path, body: wrong }))).toEqual([409, 'run_cut_refused'])
  })

  it('continues from a checkpoint of an earlier run without its name, and repeats the same request once', async () => {
    const testServer = openTwoUserServer()
    for (const runId of ['r1', 'r2']) await testServer.run('s', { agent: 'echo', input: runId, runId })
    const path = '/api/sessions/s/resume'
    const body = { mode: 'from-checkpoint', checkpointId: 'r1/main/1', runId: 'r3' }
    const reply = await testServer.send({ path, body })
    expect(reply.status).toBe(202)
    const runtime = await testServer.app.runtime()
    expect((await runtime.run('s', 'r3').result()).status).toBe('completed')
    const { view } = await runtime.view('s')
    expect(view.runs.at(-1)).toMatchObject({ runId: 'r3', resumes: 'r1' })
    expect(view.messages.filter(({ role }) => role === 'user')).toHaveLength(1)
    expect((await testServer.send({ path, body })).json).toEqual(reply.json)
    const removed = { mode: 'from-checkpoint', checkpointId: 'r2/main/1' }
    expect(errorOf(await testServer.send({ path, body: removed }))).toEqual([409, 'run_cut_refused'])
  })

  it('is refused if there is no run', async () => {
    const testServer = openTwoUserServer()
    const { sessionId } = await testServer.post('/api/sessions', {})
    const reply = await testServer.send({ path: `/api/sessions/${sessionId}/resume`, body: { mode: 'continue' } })
    expect(errorOf(reply)).toEqual([404, 'run_unknown'])
    const retry = await testServer.send({ path: `/api/sessions/${sessionId}/retry`, body: {} })
    expect(errorOf(retry)).toEqual([404, 'run_unknown'])
  })

  it('answers all pending approvals of a paused run with a confirmation', async () => {
    const testServer = openTwoUserServer()
    await testServer.run('s', { agent: 'operator', input: 'Do it', runId: 'r1' })
    const body = { mode: 'with-confirmation', approved: true }
    const reply = await testServer.send({ path: '/api/sessions/s/resume', body })
    expect([reply.status, reply.json]).toEqual([202, { sessionId: 's', runId: 'r1' }])
  })
})

describe('retry and edit', () => {
  it('repeat a turn, and reply in the accepted format', async () => {
    const testServer = openTwoUserServer()
    await testServer.run('s', { agent: 'echo', input: 'One', messageId: 'm1', runId: 'r1' })
    const retried = await testServer.send({ path: '/api/sessions/s/retry', body: { runId: 'r2' } })
    expect([retried.status, retried.json]).toEqual([202, { sessionId: 's', runId: 'r2', sequence: expect.any(Number) }])
    await (await testServer.app.runtime()).run('s', 'r2').result()
    const body = { messageId: 'm1', input: 'Two', newMessageId: 'm2', runId: 'r3' }
    const edited = await testServer.send({ path: '/api/sessions/s/edit', body, headers: NDJSON })
    expect(framesIn(edited).at(-1)).toMatchObject({ type: 'end', status: 'completed' })
    expect(edited.headers.get('x-run-id')).toBe('r3')
    expect(await textsOf(testServer)).toEqual(['Two', 'You said: Two'])
  })

  it('are refused for unknown turns and messages', async () => {
    const testServer = openTwoUserServer()
    await testServer.run('s', { agent: 'echo', input: 'One', messageId: 'm1', runId: 'r1' })
    const before = await testServer.storeContent()
    const send = (path: string, body: object) => testServer.send({ path: `/api/sessions/s/${path}`, body })
    expect(errorOf(await send('retry', { of: 'nobody' }))).toEqual([404, 'run_unknown'])
    expect(errorOf(await send('edit', { messageId: 'nobody', input: 'x' }))).toEqual([404, 'run_unknown'])
    expect(errorOf(await send('edit', { messageId: 'm1', input: 'x', newMessageId: 'a::b' }))).toEqual([
      400,
      'body_invalid',
    ])
    expect(await testServer.storeContent()).toBe(before)
  })
})
