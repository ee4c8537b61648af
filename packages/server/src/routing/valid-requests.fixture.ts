// A valid request for every route, in sessions that are prepared for it.

import { validDialectRequests } from '../dialects/valid-dialect-requests.fixture.ts'
import type { TestRequest, TwoUserServer } from './two-user-server.fixture.ts'

interface PreparedSessions {
  /** Hash of a tool result of 100,000 bytes. */
  readonly blob: string
  readonly upload: string
}

/** Sessions of ann in which every route has something to do. */
export async function prepareSessions(testServer: TwoUserServer): Promise<PreparedSessions> {
  await testServer.run('mine', { agent: 'echo', input: 'Hello', messageId: 'm1', runId: 'r1' })
  await testServer.run('waiting', { agent: 'operator', input: 'Do it', runId: 'r2' })
  await testServer.run('waiting-there', { agent: 'operator', input: 'Do it', runId: 'r12' })
  await testServer.run('asking', { workflow: 'question', input: 'Knock', runId: 'r3' })
  await testServer.run('large', { agent: 'large', input: 'Dump', runId: 'r4' })
  await testServer.post('/api/sessions/stopped/runs', { agent: 'slow', input: 'Wait', runId: 'r5' }, JSON_REPLY)
  const runtime = await testServer.app.runtime()
  /** The id of the log, which differs if another user has a session with the same id. */
  const logOf = async (sessionId: string) =>
    (await runtime.manager.findSession('ann', sessionId))?.streamId ?? sessionId
  const stopped = runtime.run(await logOf('stopped'), 'r5')
  for await (const { chunk } of stopped.stream()) if (chunk.type === 'text-delta') break
  await testServer.post('/api/sessions/stopped/stop', { runId: 'r5' })
  await stopped.result()
  await testServer.run('spare', { agent: 'echo', input: 'Soon gone' })
  const { view } = await runtime.view(await logOf('large'))
  const { hash: blob = '' } = /"hash":"(?<hash>[^"]+)"/.exec(JSON.stringify(view))?.groups ?? {}
  const kept = await testServer.send({ path: '/api/sessions/mine/uploads', raw: 'some bytes', headers: TEXT })
  return { blob, upload: (kept.json as { hash: string }).hash }
}

const TEXT = { 'content-type': 'text/plain' }
const JSON_REPLY = { headers: { accept: 'application/json' } }
const NDJSON = { accept: 'application/x-ndjson' }

/** A valid request and the status of its reply. */
export interface ValidRequest extends TestRequest {
  readonly status: number
  /** Whether its stream stays open until the client leaves. */
  readonly isLive?: true
}

/** One per route, by method and path. Requests that change what others read come last. */
export const validRequests = ({ blob, upload }: PreparedSessions): Readonly<Record<string, ValidRequest>> => ({
  'GET /health': { path: '/api/health', status: 200 },
  'GET /live': { path: '/api/live', status: 200 },
  'GET /agents': { path: '/api/agents', status: 200 },
  'GET /openapi.json': { path: '/api/openapi.json', status: 200 },
  'GET /sessions': { path: '/api/sessions?limit=2', status: 200 },
  'GET /sessions/:sessionId': { path: '/api/sessions/mine?messages=last:1', status: 200 },
  'GET /sessions/stream': { path: '/api/sessions/stream', headers: NDJSON, status: 200, isLive: true },
  'GET /sessions/:sessionId/stream': {
    path: '/api/sessions/mine/stream?after=0&live=false&merge=false',
    headers: NDJSON,
    status: 200,
  },
  'GET /stream': { path: '/api/stream?session=mine&after=1&session=waiting', status: 200, isLive: true },
  'GET /sessions/:sessionId/blobs/:hash': { path: `/api/sessions/large/blobs/${blob}`, status: 200 },
  'GET /sessions/:sessionId/uploads/:hash': { path: `/api/sessions/mine/uploads/${upload}`, status: 200 },
  'POST /sessions/:sessionId/uploads': {
    path: '/api/sessions/mine/uploads',
    raw: 'other bytes',
    headers: { ...TEXT, 'x-filename': 'a.txt' },
    status: 201,
  },
  'POST /sessions': { path: '/api/sessions', body: { title: 'New', metadata: { a: 1 } }, status: 201 },
  ...validDialectRequests,
  'POST /sessions/:sessionId/fork': { path: '/api/sessions/mine/fork', body: { at: 3 }, status: 201 },
  'PATCH /sessions/:sessionId': {
    path: '/api/sessions/mine',
    method: 'PATCH',
    body: { title: 'Mine', metadata: { b: 2 } },
    status: 200,
  },
  'POST /sessions/:sessionId/answers': {
    path: '/api/sessions/waiting/answers',
    body: { kind: 'approval', id: 'r2::call-send', approved: true, reason: 'fine' },
    status: 200,
  },
  'POST /sessions/:sessionId/stop': {
    path: '/api/sessions/waiting/stop',
    body: { runId: 'r2', mode: 'abort', reason: 'enough' },
    status: 200,
  },
  'POST /sessions/:sessionId/resume': {
    path: '/api/sessions/stopped/resume',
    body: { mode: 'with-message', message: 'Go on', messageId: 'm5', resumes: 'r5', runId: 'r6' },
    status: 202,
  },
  'POST /sessions/:sessionId/runs': {
    path: '/api/sessions/mine/runs',
    body: {
      agent: 'echo',
      input: { parts: [{ type: 'text', text: 'Again' }], metadata: { from: 'a test' } },
      messageId: 'm2',
      runId: 'r7',
      data: { any: 'thing' },
      whenBusy: 'queue',
      onDisconnect: 'continue',
    },
    headers: NDJSON,
    status: 200,
  },
  'POST /sessions/:sessionId/retry': {
    path: '/api/sessions/mine/retry',
    body: { of: 'r1', runId: 'r8', whenBusy: 'queue' },
    headers: NDJSON,
    status: 200,
  },
  'POST /sessions/:sessionId/edit': {
    path: '/api/sessions/mine/edit',
    body: { messageId: 'm1', input: 'Hello again', newMessageId: 'm9', runId: 'r9' },
    headers: NDJSON,
    status: 200,
  },
  'DELETE /sessions/:sessionId': { path: '/api/sessions/spare', method: 'DELETE', status: 204 },
})
