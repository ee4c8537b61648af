import { randomBytes } from 'node:crypto'
import { encodeCursor } from '@millrace/protocol'
import { json } from '../http/reply.ts'
import { route, SESSION_ID } from '../routing/route.ts'
import {
  anyText,
  count,
  ForkBody,
  InfoBody,
  NewSessionBody,
  OlderMessages,
  SessionList,
  SessionMade,
  SessionSummarySchema,
  SessionView,
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

/** An id that nobody guesses. */
const randomId = (): string => randomBytes(16).toString('base64url')

/** The most sessions on one page. */
const MOST_LISTED = 200

/** The routes of sessions themselves. */
export const sessions = [
  route({
    method: 'POST',
    path: '/sessions',
    action: 'create',
    summary: 'Makes a session, with an id that nobody guesses.',
    body: NewSessionBody,
    replies: { 201: SessionMade },
    gives: SESSION_ID,
    handle: async ({ services, caller, body }) => {
      const sessionId = randomId()
      await withSession(services, caller, sessionId, async () => {
        if (body.title === undefined && body.metadata === undefined) return
        await services.runtime.describe(sessionId, omitUndefined({ ...body, ...guestOf(caller) }))
      })
      return json(201, { sessionId }, { 'x-session-id': sessionId })
    },
  }),
  route({
    method: 'GET',
    path: '/sessions',
    action: 'list',
    summary: 'Lists one’s own sessions, those touched last first.',
    query: { limit: count('How many.', 1, MOST_LISTED), after: anyText('Where the page before went on.') },
    replies: { 200: SessionList },
    handle: async ({ services, caller, query: { limit = '50', after } }) =>
      json(200, await services.lists.page(caller.owner, Number(limit), after)),
  }),
  route({
    method: 'GET',
    path: '/sessions/:sessionId',
    action: 'read',
    summary: 'The view of a session and the cursor to follow it from, read at one position.',
    query: {
      messages: anyText(
        `\`last:50\`: only so many messages, at most ${MAX_MESSAGES}, and with them all that somebody still works on.`,
      ),
      before: anyText('With `messages`: those before this message, and nothing else of the view.'),
    },
    replies: { 200: SessionView.or(OlderMessages) },
    handle: async ({ services, caller, params, query }) => {
      const sessionId = params['sessionId'] as string
      const identity = await requireSession(services, caller, sessionId)
      const { view, ticket, cursor } = await services.manager.view(sessionId)
      await assertSameSession(services.manager, sessionId, identity)
      const { internal, ...shown } = view
      const paged = messagePageOf(shown, query)
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
    summary: 'Names a session, or says what belongs to it.',
    body: InfoBody,
    replies: { 200: SessionSummarySchema },
    handle: async ({ services, caller, body, params }) => {
      const sessionId = params['sessionId'] as string
      await requireSession(services, caller, sessionId)
      await services.runtime.describe(sessionId, omitUndefined({ ...body, ...guestOf(caller) }))
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
    summary: 'Removes a session, and all there is of it.',
    others: { 204: 'It is gone.' },
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
    summary: 'Makes another session from the beginning of one, up to a sequence.',
    body: ForkBody,
    replies: { 201: SessionMade },
    gives: SESSION_ID,
    handle: async ({ services, caller, body, params }) => {
      const sessionId = params['sessionId'] as string
      const identity = await requireSession(services, caller, sessionId)
      const { at } = body
      const { principal } = caller
      const session = randomId()
      const options = omitUndefined({ session, at, principal: principal ?? undefined })
      await createWithinLimit(services, principal, () => services.runtime.fork(sessionId, options))
      try {
        await assertSameSession(services.manager, sessionId, identity)
      } catch (error) {
        await services.manager.deleteStream(session)
        throw error
      }
      return json(201, { sessionId: session }, { 'x-session-id': session })
    },
  }),
]
