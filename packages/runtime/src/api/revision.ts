// What does a turn again: with the same message, or with another in its place. Both cut before the turn's start.

import type { Run, View } from '@millrace/protocol'
import type { Program } from '../define/program.ts'
import { RunError } from '../error/error.ts'
import { presentOf } from './program.ts'
import { messageOf, mustBeNew, mustBeShown, type RunSpec, requestFor, runOf, type UserInput } from './request.ts'

type Programs = ReadonlyMap<string, Program>

/** The request that does a turn again, with the same message under the same id: by the version that is here, where it begins anew. */
export function repetition(programs: Programs, view: View, run: Run): RunSpec {
  mustBeShown(view, run)
  const { message, resume, data } = requestFor(view, run.runId) ?? {}
  const { program = '' } = run
  return {
    program: resume ? program : presentOf(programs, program),
    cut: { toSequence: run.at - 1, reason: 'retry' },
    ...(message && { message }),
    ...(resume && { resume }),
    ...(data !== undefined && { data }),
  }
}

/** The run whose turn began with a message: the latest, since a turn that is done again begins with the same. */
export function runOfMessage(view: View, messageId: string): Run {
  const asked = view.requests.findLast(
    ({ message, status }) => message?.messageId === messageId && status === 'started',
  )
  if (asked) return runOf(view, asked.runId)
  const waits = view.requests.some(({ message, status }) => message?.messageId === messageId && status === 'waiting')
  const why = waits
    ? 'its run has not started: stop that, and start another'
    : 'only a message that a run began with can be'
  throw new RunError('run_unknown', `message ${messageId} cannot be edited: ${why}`)
}

/** The request that replaces the message of a turn, and all that came of it: also what was sent along with the message that it replaces. */
export function revision(programs: Programs, view: View, run: Run, input: UserInput, newId?: string): RunSpec {
  const { data, ...asked } = repetition(programs, view, run)
  const toSequence = run.at - 1
  const message = messageOf(input, newId)
  mustBeNew(view, message.messageId, toSequence)
  return { ...asked, cut: { toSequence, reason: 'edit' }, message }
}
