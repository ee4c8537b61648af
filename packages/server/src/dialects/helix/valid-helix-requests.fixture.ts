import type { ValidRequest } from '../../routing/valid-requests.fixture.ts'

export const validHelixRequests: Readonly<Record<string, ValidRequest>> = {
  'GET /helix/:agent/sse': { path: '/api/helix/echo/sse?sessionId=mine&fromSequence=2', status: 200 },
  'GET /helix/:agent/snapshot': { path: '/api/helix/echo/snapshot?sessionId=mine', status: 200 },
  'GET /helix/:agent/status': { path: '/api/helix/echo/status?sessionId=mine', status: 200 },
  'POST /helix/:agent/start': {
    path: '/api/helix/echo/start',
    body: { sessionId: 'session-of-helix', message: 'Hello', messageId: 'h1', data: { any: 'thing' } },
    status: 202,
  },
  'POST /helix/:agent/retry': { path: '/api/helix/echo/retry', body: { sessionId: 'large' }, status: 202 },
  'POST /helix/:agent/resume': {
    path: '/api/helix/operator/resume',
    body: { sessionId: 'asking', mode: 'continue' },
    status: 202,
  },
  'POST /helix/:agent/submit-tool-result': {
    path: '/api/helix/operator/submit-tool-result',
    // Also valid after another route has answered: a repeated answer gets the same reply.
    body: {
      sessionId: 'waiting',
      kind: 'approval-response',
      approvalId: 'r2::call-send',
      approved: true,
      reason: 'fine',
    },
    status: 200,
  },
  'POST /helix/:agent/interrupt': {
    path: '/api/helix/echo/interrupt',
    body: { sessionId: 'mine', runId: 'r1', reason: 'enough' },
    status: 200,
  },
  'POST /helix/:agent/abort': { path: '/api/helix/echo/abort', body: { sessionId: 'mine' }, status: 200 },
}
