// Requests in the format of AG-UI, which TanStack AI uses too.

import type { RunAgentInput } from '@millrace/dialects/ag-ui/schemas'
import { answerFromResume, cancelledQuestionIn } from '@millrace/dialects/internal'
import type { Interrupt, Json } from '@millrace/protocol'
import { type Run, RunError } from '@millrace/runtime'
import type { Program } from '../../auth/authorize.ts'
import type { RouteCall } from '../../routing/route.ts'
import { guestOf } from '../../runs/requester.ts'
import type { PublicView } from '../../sessions/message-page.ts'
import { reauthorizeSession, requireSession } from '../../sessions/session-access.ts'
import { callerInSession } from './caller-in-session.ts'
import { transcriptRefused } from './client-answers.ts'
import type { AcceptedTurn } from './handle-client-request.ts'
import { messageIdFor } from './names.ts'

/**
 * A client that cancels a question and sends no new message stops the run. Its answers to other requests of the run do
 * not count then. A repeated cancellation gets the same run. Undefined for all other requests.
 * @throws `transcript_refused` or `answer_already_settled`
 */
export async function stopCancelledRun(
  call: RouteCall,
  { threadId, messages, resume = [] }: RunAgentInput,
  program: Program,
): Promise<AcceptedTurn | undefined> {
  const cancelled = resume.flatMap(entry => cancelledQuestionIn(entry) ?? [])
  if (cancelled.length === 0) return undefined
  const { services, request } = call
  const caller = await callerInSession(call, threadId, program)
  const identity = await requireSession(services, caller, threadId)
  const { view } = await services.runtime.view(identity.streamId)
  const questions = cancelled.map(id => cancelledQuestion(view, id))
  const answered = resume.flatMap(entry => answerFromResume(entry) ?? [])
  const both = cancelled.find(id => answered.some(answer => answer.kind === 'interrupt' && answer.id === id))
  if (both !== undefined) throw transcriptRefused(`interrupt ${both}: expected one answer, found two that differ`)
  const last = messages.at(-1)
  const isNew = last?.role === 'user' && !view.messages.some(({ id }) => id === messageIdFor(last.id))
  if (isNew) return undefined
  const { runId, status } = questions.find(question => question.status === 'open') ?? (questions[0] as Interrupt)
  if (status === 'open') {
    await reauthorizeSession(services, request, caller, 'stop', threadId, program)
    await services.runtime.stop(identity.streamId, runId, guestOf(caller))
  }
  const run: Run = services.runtime.run(identity.streamId, runId)
  return { run, caller, identity, action: 'stop', program, after: { sequence: view.head } }
}

/** A question that a client cancels: one of the session that has no answer. */
function cancelledQuestion({ interrupts }: PublicView, id: string): Interrupt {
  const question = interrupts.findLast(({ interruptId }) => interruptId === id)
  if (question === undefined) throw transcriptRefused(`interrupt ${id}: expected an interrupt of this session`)
  if (question.status !== 'answered') return question
  throw new RunError('answer_already_settled', `interrupt ${id}: it was answered before: read the session`)
}

/** The data that an application sends along. */
export function dataOf({ context = [], forwardedProps }: RunAgentInput): Json | undefined {
  const isEmpty = typeof forwardedProps === 'object' && Object.keys(forwardedProps ?? {}).length === 0
  const data = {
    ...(context.length > 0 && { context }),
    ...(forwardedProps !== undefined && !isEmpty && { forwardedProps }),
  }
  return Object.keys(data).length === 0 ? undefined : (data as unknown as Json)
}
