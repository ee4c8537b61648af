import type { Good } from '../../routing/valid-requests.fixture.ts'

export const kortyxGood: Readonly<Record<string, Good>> = {
  'POST /kortyx/:agent': {
    path: '/api/kortyx/echo',
    body: { sessionId: 'said-by-kortyx', workflowId: '', messages: [{ role: 'user', content: 'Hello' }], context: {} },
    status: 200,
  },
}
