import { isPublicBlob } from '@millrace/log/internal'
import { Refusal } from '../errors/refusal.ts'
import { route } from '../routing/route.ts'
import { assertSameSession, requireSession } from '../sessions/session-access.ts'

/** What is called by the hash of what it is never changes, and is for whoever asked. */
export const KEPT_FOR_GOOD = 'private, max-age=31536000, immutable'

/** The route of large values, which entries and parts name by their hash in `blobs`. */
export const blobs = [
  route({
    method: 'GET',
    path: '/sessions/:sessionId/blobs/:hash',
    action: 'download',
    summary: 'The JSON of a large value, which stands beside the log: `blobs` of an entry or a part names it.',
    others: { 200: 'application/json' },
    handle: async ({ services, caller, params }) => {
      const { sessionId, hash } = params as { sessionId: string; hash: string }
      const identity = await requireSession(services, caller, sessionId)
      // The hash of what an internal entry carries is told apart by itself (law 10): the log need not be read for it.
      const body = isPublicBlob(hash) ? await services.manager.blob(sessionId, hash) : undefined
      await assertSameSession(services.manager, sessionId, identity)
      if (body === undefined) throw new Refusal('blob_unknown', 'hash: the session has no such value')
      const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': KEPT_FOR_GOOD }
      return { status: 200, headers, body }
    },
  }),
]
