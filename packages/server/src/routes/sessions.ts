import { randomBytes } from 'node:crypto'
import { encodeCursor } from '@millrace/protocol'
import { json } from '../http/reply.ts'
import { route, SESSION_ID } from '../routing/route.ts'
import {
  CreatedSession,
  ForkBody,
  NewSessionBody,
  OlderMessages,
  optionalText,
  SessionList,
  SessionSummarySchema,
  SessionView,
  UpdateSessionBody,
  wholeNumber,
} from '../routing/schemas.ts'
import { omitUndefined } from '../runs/omit-undefined.ts'
import { guestOf } from '../runs/requester.ts'
import { MAX_MESSAGES, messagePageOf } from '../sessions/message-page.ts'
import {
  assertSameSession,
  createWithinLimit,
  deleteSession,
  requireSession,
  withSession,
} from '../sessions/session-access.ts'

/** A random id that cannot be guessed. */
const randomId = (): string => randomBytes(16).toString('base64url')

/** Maximum number of sessions on one page. */
const MAX_PAGE_SIZE = 200

/** Routes that create, list, read, update, delete and fork sessions. */
export const sessions = [
  route({
    method: 'POST',
    path: '/sessions',
    action: 'create',
    summary: 'Creates a session with a random id.',
    body: NewSessionBody,
    replies: { 201: CreatedSession },
    replyHeaders: SESSION_ID,
    handle: async ({ services, caller, body }) => {
      const sessionId = randomId()
      await withSession(services, caller, sessionId, async ({ streamId }) => {
        if (body.title === undefined && body.metadata === undefined) return
        await services.runtime.describe(streamId, omitUndefined({ ...body, ...guestOf(caller) }))
      })
      return json(201, { sessionId }, { 'x-session-id': sessionId })
    },
  }),
  route({
    method: 'GET',
    path: '/sessions',
    action: 'list',
    summary: 'Lists the caller’s sessions, most recently updated first.',
    query: {
      limit: wholeNumber('Page size. Default 50.', 1, MAX_PAGE_SIZE),
      after: optionalText('`next` of the previous page.'),
    },
    replies: { 200: SessionList },
    handle: async ({ services, caller, query: { limit = '50', after } }) =>
      json(200, await services.lists.page(caller.owner, Number(limit), after)),
  }),
  route({
    method: 'GET',
    path: '/sessions/:sessionId',
    action: 'read',
    summary: 'Reads the view of a session and the cursor to follow it from, both at one position.',
    query: {
      messages: optionalText(
        `\`last:50\`: only the last messages, at most ${MAX_MESSAGES}, and all that are still being written.`,
      ),
      before: optionalText('With `messages`: the messages before this one, without the rest of the view.'),
    },
    replies: { 200: SessionView.or(OlderMessages) },
    handle: async ({ services, caller, params, query }) => {
      const sessionId = params['sessionId'] as string
      const identity = await requireSession(services, caller, sessionId)
      const { view, ticket, cursor } = await services.manager.view(identity.streamId)
      await assertSameSession(services.manager, identity)
      const { internal, ...publicView } = view
      const paged = messagePageOf(publicView, query)
      const { sequence } = cursor
      if (paged.view === undefined) return json(200, { sequence, ...paged })
      const { title, metadata } = ticket.about ?? {}
      return json(200, {
        sequence,
        cursor: encodeCursor(cursor),
        ...(title !== undefined && { title }),
        ...(metadata !== undefined && { metadata }),
        ...paged,
      })
    },
  }),
  route({
    method: 'PATCH',
    path: '/sessions/:sessionId',
    action: 'update',
    summary: 'Sets the title or the metadata of a session.',
    body: UpdateSessionBody,
    replies: { 200: SessionSummarySchema },
    handle: async ({ services, caller, body, params }) => {
      const sessionId = params['sessionId'] as string
      const { streamId } = await requireSession(services, caller, sessionId)
      await services.runtime.describe(streamId, omitUndefined({ ...body, ...guestOf(caller) }))
      const { head, status, ticket, createdAt, touchedAt } = await requireSession(services, caller, sessionId)
      const { about, line } = ticket
      return json(200, {
        sessionId,
        ...(about?.title !== undefined && { title: about.title }),
        ...(line !== undefined && { line }),
        status,
        created: createdAt,
        updated: touchedAt,
        sequence: head,
      })
    },
  }),
  route({
    method: 'DELETE',
    path: '/sessions/:sessionId',
    action: 'delete',
    summary: 'Deletes a session with its uploads and large values.',
    otherReplies: { 204: 'The session is deleted.' },
    handle: async ({ services, caller, params }) => {
      const sessionId = params['sessionId'] as string
      await deleteSession(services, caller, sessionId)
      return { status: 204, headers: {}, body: undefined }
    },
  }),
  route({
    method: 'POST',
    path: '/sessions/:sessionId/fork',
    action: 'fork',
    summary: 'Creates a session with a copy of the entries up to a sequence.',
    body: ForkBody,
    replies: { 201: CreatedSession },
    replyHeaders: SESSION_ID,
    handle: async ({ services, caller, body, params }) => {
      const sessionId = params['sessionId'] as string
      const identity = await requireSession(services, caller, sessionId)
      const { at } = body
      const { principal } = caller
      const forkId = randomId()
      const options = omitUndefined({ session: forkId, at, principal: principal ?? undefined })
      await createWithinLimit(services, principal, () =>
        services.uploads.fork(principal, identity.streamId, () => services.runtime.fork(identity.streamId, options)),
      )
      try {
        await assertSameSession(services.manager, identity)
      } catch (error) {
        await services.manager.deleteStream(forkId)
        throw error
      }
      return json(201, { sessionId: forkId }, { 'x-session-id': forkId })
    },
  }),
]
