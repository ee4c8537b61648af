import type { ValidRequest } from '../../routing/valid-requests.fixture.ts'

export const validTanstackRequests: Readonly<Record<string, ValidRequest>> = {
  'POST /tanstack/:agent': {
    path: '/api/tanstack/echo',
    body: { messages: [{ role: 'user', content: 'Hello' }], data: { conversationId: 'session-of-tanstack' } },
    status: 200,
  },
  'GET /tanstack/:agent': { path: '/api/tanstack/echo?threadId=mine', status: 200 },
}
