import { type Answer, RunError } from '@millrace/runtime'
import type * as z from 'zod'
import { sessionUnknown } from '../errors/http-error.ts'
import { json } from '../http/reply.ts'
import { route } from '../routing/route.ts'
import { AnswerBody, AnswerResult } from '../routing/schemas.ts'
import { answererOf } from '../runs/requester.ts'
import { requireSession } from '../sessions/session-access.ts'

/** Default duration of a claim, in ms. */
export const CLAIM_MS = 60_000

/** The route that answers pendings. */
export const answers = [
  route({
    method: 'POST',
    path: '/sessions/:sessionId/answers',
    action: 'answer',
    summary: 'Answers a pending approval, client tool call or interrupt, or claims a client tool call.',
    body: AnswerBody,
    replies: { 200: AnswerResult },
    handle: async ({ services, caller, body, params }) => {
      const sessionId = params['sessionId'] as string
      const { streamId } = await requireSession(services, caller, sessionId)
      const answerer = answererOf(caller)
      const { runtime } = services
      if (body.kind === 'claim') {
        const { id, client, forMs = CLAIM_MS } = body
        const options = { ...answerer, forMs, ...(client !== undefined && { by: client }) }
        return json(200, await hidingOtherOwners(sessionId, runtime.claim(streamId, id, options)))
      }
      return json(200, await hidingOtherOwners(sessionId, runtime.answer(streamId, answerFromBody(body), answerer)))
    },
  }),
]

/** Hides a session whose owner has changed. @throws `session_unknown` instead of `answer_forbidden` */
async function hidingOtherOwners<T>(sessionId: string, answered: Promise<T>): Promise<T> {
  try {
    return await answered
  } catch (error) {
    throw error instanceof RunError && error.code === 'answer_forbidden' ? sessionUnknown(sessionId) : error
  }
}

function answerFromBody(body: Exclude<z.output<typeof AnswerBody>, { kind: 'claim' }>): Answer {
  switch (body.kind) {
    case 'approval':
      return body as Answer
    case 'interrupt':
      return { kind: 'interrupt', id: body.id, response: body.response }
    case 'tool-result': {
      const { kind, id, output, error, code } = body
      return error === undefined
        ? { kind, id, output: output ?? null }
        : { kind, id, error, ...(code !== undefined && { code }) }
    }
  }
}
