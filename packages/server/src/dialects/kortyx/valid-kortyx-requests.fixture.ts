import type { ValidRequest } from '../../routing/valid-requests.fixture.ts'

export const validKortyxRequests: Readonly<Record<string, ValidRequest>> = {
  'POST /kortyx/:agent': {
    path: '/api/kortyx/echo',
    body: {
      sessionId: 'session-of-kortyx',
      workflowId: '',
      messages: [{ role: 'user', content: 'Hello' }],
      context: {},
    },
    status: 200,
  },
}
