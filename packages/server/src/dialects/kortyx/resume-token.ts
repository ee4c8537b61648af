// Tokens that answer pending requests. A token belongs to one request of one session and is good for one answer. The same answer again gets
// the same result. Another answer, the token of another session or of a deleted one with the same id, and an unknown token are refused.

import { isDeepStrictEqual } from 'node:util'
import type { ClientAnswer, ClientRequest } from '@millrace/dialects'
import { type AnsweredRequest, answerFromSelection } from '@millrace/dialects/kortyx'
import type { Resume } from '@millrace/dialects/kortyx/schemas'
import { RunError } from '@millrace/runtime'
import type { RouteCall } from '../../routing/route.ts'
import type { PublicView } from '../../sessions/message-page.ts'
import { requireSession, type SessionIdentity } from '../../sessions/session-access.ts'
import { callerInSession } from '../client-request/caller-in-session.ts'
import type { TurnRequest } from '../client-request/handle-client-request.ts'
import { derivedId } from '../client-request/names.ts'

/** The token of a pending request. The same requests in a session that was created again get other tokens. */
export const tokenFor = ({ incarnation }: SessionIdentity, sessionId: string, requestId: string): string =>
  derivedId('kortyx', sessionId, incarnation, requestId)

/** Turns a resume by token into a client request. @throws `answer_unknown`, `answer_invalid` or `answer_already_settled` */
export async function answerByToken(
  call: RouteCall,
  { sessionId, program }: Pick<TurnRequest, 'sessionId' | 'program'>,
  { token, requestId, selected, isCancelled }: Resume,
): Promise<Partial<ClientRequest>> {
  const identity = await requireSession(call.services, await callerInSession(call, sessionId, program), sessionId)
  const { view } = await call.services.runtime.view(identity.streamId)
  const request = token === tokenFor(identity, sessionId, requestId) ? findRequest(view, requestId) : undefined
  if (request === undefined)
    throw new RunError('answer_unknown', 'resume: expected the token of a pending request in this session')
  if (isCancelled) {
    if (!request.isOpen) throw tokenUsed(requestId)
    return {}
  }
  const answer = selected && answerFromSelection(request.answered, selected)
  if (answer === undefined)
    throw new RunError('answer_invalid', `resume ${requestId}: ${selectionProblem(request.answered, selected)}`)
  const isAgain = isDeepStrictEqual(request.answer, answer) && view.runs.at(-1)?.runId === request.runId
  if (!request.isOpen && !isAgain) throw tokenUsed(requestId)
  // A request with an answer does not ask for another reply.
  return { endsWithUserMessage: false, answers: [answer], regenerate: undefined }
}

/** Why a selection does not answer a request. */
function selectionProblem({ kind }: AnsweredRequest, selected: readonly string[] | undefined): string {
  if (selected === undefined) return 'expected the ids of a selection in `selected`, `choice` or `choices`, in one form'
  const expected = kind === 'approval' ? 'approve or deny' : 'one value'
  return `expected ${expected}, found ${selected.length === 1 ? 'another value' : `${selected.length} values`}`
}

const tokenUsed = (requestId: string): RunError =>
  new RunError(
    'answer_already_settled',
    `resume ${requestId}: its token was used or its run has ended: read the session`,
  )

/** A request of a run, whether it is open, and otherwise its answer. */
interface PendingRequest {
  readonly answered: AnsweredRequest
  readonly runId: string | undefined
  readonly isOpen: boolean
  readonly answer?: ClientAnswer
}

/** The request with this id. Of several, the latest counts, as for every answer. */
function findRequest(view: PublicView, id: string): PendingRequest | undefined {
  const question = view.interrupts.findLast(({ interruptId }) => interruptId === id)
  if (question) {
    const { input, runId, status, response } = question
    const answer = response === undefined ? undefined : ({ kind: 'interrupt', id, response: response } as const)
    return { answered: { kind: 'interrupt', id, input }, runId, isOpen: status === 'open', ...(answer && { answer }) }
  }
  let found: PendingRequest | undefined
  for (const { parts, runId } of view.messages) {
    for (const part of parts) {
      if (!('toolCallId' in part)) continue
      const { approval, state, toolCallId, executor } = part
      if (approval?.id === id) {
        const { approved } = approval
        const answer = approved === undefined ? undefined : ({ kind: 'approval', id, approved } as const)
        const isOpen = state === 'approval-requested'
        found = { answered: { kind: 'approval', id }, runId, isOpen, ...(answer && { answer }) }
        continue
      }
      if (toolCallId !== id || executor !== 'client') continue
      const isOpen = view.pendings.some(pending => pending.kind === 'client-tool' && pending.id === id)
      const answer =
        state === 'output-available' ? ({ kind: 'tool-result', id, output: part.output ?? null } as const) : undefined
      found = { answered: { kind: 'client-tool', id }, runId, isOpen, ...(answer && { answer }) }
    }
  }
  return found
}
