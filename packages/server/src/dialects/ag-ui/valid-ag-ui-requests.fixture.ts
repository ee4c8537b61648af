import type { ValidRequest } from '../../routing/valid-requests.fixture.ts'

export const validAgUiRequests: Readonly<Record<string, ValidRequest>> = {
  'GET /ag-ui/:agent/:sessionId/stream': { path: '/api/ag-ui/echo/nobodys/stream', status: 204 },
  'POST /ag-ui/:agent/:sessionId/stop': { path: '/api/ag-ui/echo/mine/stop', method: 'POST', status: 200 },
  'POST /ag-ui/:agent': {
    path: '/api/ag-ui/echo',
    body: {
      threadId: 'session-of-ag-ui',
      runId: 'run-by-ag-ui',
      messages: [{ id: 'u1', role: 'user', content: 'Hello' }],
      tools: [],
      context: [],
      state: {},
      forwardedProps: {},
    },
    status: 200,
  },
}
