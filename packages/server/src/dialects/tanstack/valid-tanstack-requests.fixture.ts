import type { Good } from '../../routing/valid-requests.fixture.ts'

export const tanstackGood: Readonly<Record<string, Good>> = {
  'POST /tanstack/:agent': {
    path: '/api/tanstack/echo',
    body: { messages: [{ role: 'user', content: 'Hello' }], data: { conversationId: 'said-by-tanstack' } },
    status: 200,
  },
  'GET /tanstack/:agent': { path: '/api/tanstack/echo?threadId=mine', status: 200 },
}
