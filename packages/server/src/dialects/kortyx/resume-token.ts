// Something that waits is answered by its token. A token is the session's and the request's, and good for one answer: who repeats that one is told what came of it, and
// who gives another is refused, as is who has the token of another session, or none that was ever given.

import { isDeepStrictEqual } from 'node:util'
import type { ClientAnswer, ClientRequest } from '@millrace/dialects'
import { type Answered, answerOf } from '@millrace/dialects/kortyx'
import type { Resume } from '@millrace/dialects/kortyx/schemas'
import { RunError } from '@millrace/runtime'
import type { RouteCall } from '../../routing/route.ts'
import type { PublicView } from '../../sessions/message-page.ts'
import { requireSession } from '../../sessions/session-access.ts'
import { callerInSession } from '../turn/caller-in-session.ts'
import { derivedId } from '../turn/names.ts'
import type { TurnRequest } from '../turn/turn.ts'

/** The token by which a request of a session is answered. */
export const tokenFor = (sessionId: string, requestId: string): string => derivedId('kortyx', sessionId, requestId)

/** What a person answers by a token, as a request says it; throws where that is not to be answered so. */
export async function answerByToken(
  call: RouteCall,
  { sessionId, program }: Pick<TurnRequest, 'sessionId' | 'program'>,
  { token, requestId, selected, isCancelled }: Resume,
): Promise<Partial<ClientRequest>> {
  await requireSession(call.services, await callerInSession(call, sessionId, program), sessionId)
  const { view } = await call.services.runtime.view(sessionId)
  const asked = token === tokenFor(sessionId, requestId) ? findRequest(view, requestId) : undefined
  if (asked === undefined) throw new RunError('answer_unknown', 'resume: nothing waits in this session for that token')
  if (isCancelled) {
    if (!asked.isOpen) throw tokenUsed(requestId)
    return {}
  }
  const answer = answerOf(asked.about, selected)
  if (answer === undefined)
    throw new RunError('answer_invalid', `resume ${requestId}: expected a selection that answers it`)
  const isAgain = isDeepStrictEqual(asked.given, answer) && view.runs.at(-1)?.runId === asked.runId
  if (!asked.isOpen && !isAgain) throw tokenUsed(requestId)
  return { endsWithUserMessage: false, answers: [answer] }
}

const tokenUsed = (requestId: string): RunError =>
  new RunError(
    'answer_already_settled',
    `resume ${requestId}: its token was used, or its run has ended: look at the session`,
  )

/** What was asked for, whether it still waits, and otherwise what it was answered with. */
interface PendingRequest {
  readonly about: Answered
  readonly runId: string | undefined
  readonly isOpen: boolean
  readonly given?: ClientAnswer
}

function findRequest(view: PublicView, id: string): PendingRequest | undefined {
  const question = view.interrupts.findLast(({ interruptId }) => interruptId === id)
  if (question) {
    const { input, runId, status, response } = question
    const given = response === undefined ? undefined : ({ kind: 'interrupt', id, response: response } as const)
    return { about: { kind: 'interrupt', id, input }, runId, isOpen: status === 'open', ...(given && { given }) }
  }
  for (const { parts, runId } of view.messages) {
    for (const part of parts) {
      if (!('toolCallId' in part)) continue
      const { approval, state, toolCallId, executor } = part
      if (approval?.id === id) {
        const { approved } = approval
        const given = approved === undefined ? undefined : ({ kind: 'approval', id, approved } as const)
        const isOpen = state === 'approval-requested'
        return { about: { kind: 'approval', id }, runId, isOpen, ...(given && { given }) }
      }
      if (toolCallId !== id || executor !== 'client') continue
      const isOpen = view.pendings.some(pending => pending.kind === 'client-tool' && pending.id === id)
      const given =
        state === 'output-available' ? ({ kind: 'tool-result', id, output: part.output ?? null } as const) : undefined
      return { about: { kind: 'client-tool', id }, runId, isOpen, ...(given && { given }) }
    }
  }
  return undefined
}
