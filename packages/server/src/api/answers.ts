import type { Answer } from '@millrace/runtime'
import type * as z from 'zod'
import { json } from '../http/reply.ts'
import { route } from '../route/route.ts'
import { AnswerBody, Answered } from '../route/schemas.ts'
import { enter } from '../session.ts'

/** For how long a client takes a call upon itself, if it does not say, in milliseconds. */
export const CLAIM_MS = 60_000

/** The route by which people and clients answer what a run waits for. */
export const answers = [
  route({
    method: 'POST',
    path: '/sessions/:sessionId/answers',
    action: 'answer',
    summary: 'Answers what a run waits for, or takes the call of a client tool upon oneself.',
    body: AnswerBody,
    replies: { 200: Answered },
    handle: async ({ services, caller, body, params }) => {
      const sessionId = params['sessionId'] as string
      await enter(services, caller, sessionId)
      const guest = caller.label
      if (body.kind === 'claim') {
        const { id, client, forMs = CLAIM_MS } = body
        const options = { guest, forMs, ...(client !== undefined && { by: client }) }
        return json(200, await services.runtime.claim(sessionId, id, options))
      }
      return json(200, await services.runtime.answer(sessionId, answerOf(body), { guest }))
    },
  }),
]

function answerOf(body: Exclude<z.output<typeof AnswerBody>, { kind: 'claim' }>): Answer {
  switch (body.kind) {
    case 'approval':
      return body as Answer
    case 'interrupt':
      return { kind: 'interrupt', id: body.id, response: body.value }
    case 'tool-result': {
      const { kind, id, output, error, code } = body
      return error === undefined
        ? { kind, id, output: output ?? null }
        : { kind, id, error, ...(code !== undefined && { code }) }
    }
  }
}
