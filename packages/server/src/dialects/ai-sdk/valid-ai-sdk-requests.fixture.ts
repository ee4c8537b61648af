import type { ValidRequest } from '../../routing/valid-requests.fixture.ts'

export const validAiSdkRequests: Readonly<Record<string, ValidRequest>> = {
  'GET /ai-sdk/:agent/:sessionId/stream': { path: '/api/ai-sdk/echo/mine/stream', status: 204 },
  'GET /ai-sdk/:agent/:sessionId/messages': { path: '/api/ai-sdk/echo/mine/messages', status: 200 },
  'POST /ai-sdk/:agent/:sessionId/stop': { path: '/api/ai-sdk/echo/mine/stop', body: {}, status: 200 },
  'POST /ai-sdk/:agent': {
    path: '/api/ai-sdk/echo',
    body: {
      id: 'session-of-ai-sdk',
      trigger: 'submit-message',
      messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }],
    },
    status: 200,
  },
}
