import type { ValidRequest } from '../../routing/valid-requests.fixture.ts'

export const validMuiRequests: Readonly<Record<string, ValidRequest>> = {
  'GET /mui/:agent/:sessionId/stream': { path: '/api/mui/echo/mine/stream', status: 204 },
  'GET /mui/:agent/:sessionId/messages': { path: '/api/mui/echo/mine/messages', status: 200 },
  'POST /mui/:agent': {
    path: '/api/mui/echo',
    body: {
      conversationId: 'session-of-mui',
      message: { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] },
    },
    status: 200,
  },
}
