import { isPublicBlob } from '@millrace/log/internal'
import { HttpError } from '../errors/http-error.ts'
import { route } from '../routing/route.ts'
import { assertSameSession, requireSession } from '../sessions/session-access.ts'

/** Cache policy of content that is addressed by its hash. */
export const IMMUTABLE = 'private, max-age=31536000, immutable'

/** The route of large values, which the `blobs` of entries and parts refer to by hash. */
export const blobs = [
  route({
    method: 'GET',
    path: '/sessions/:sessionId/blobs/:hash',
    action: 'download',
    summary: 'Downloads the JSON of a large value that `blobs` of an entry or part refers to.',
    otherReplies: { 200: 'application/json' },
    handle: async ({ services, caller, params, replyBytes }) => {
      const { sessionId, hash } = params as { sessionId: string; hash: string }
      const identity = await requireSession(services, caller, sessionId)
      const { streamId } = identity
      // Before the value is read.
      if (isPublicBlob(hash)) replyBytes.add((await services.manager.store.blobUsage?.({ streamId }, hash))?.bytes ?? 0)
      // Hashes of internal blobs are recognizable (law 10), so the log need not be read.
      const body = isPublicBlob(hash) ? await services.manager.blob(identity.streamId, hash) : undefined
      await assertSameSession(services.manager, identity)
      if (body === undefined)
        throw new HttpError('blob_unknown', 'hash: expected one from `blobs` of an entry or part in this session')
      const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': IMMUTABLE }
      return { status: 200, headers, body }
    },
  }),
]
