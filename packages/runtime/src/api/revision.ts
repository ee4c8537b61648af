// Repeats a turn with the same message or with another one. Both rewind to before the turn.

import type { Run, View } from '@millrace/protocol'
import { availableVersionOf, type Program } from '../define/program.ts'
import { RunError } from '../error/error.ts'
import {
  checkNewMessageId,
  checkVisible,
  messageOf,
  type RunSpec,
  requestFor,
  runOf,
  type UserInput,
} from './request.ts'

type Programs = ReadonlyMap<string, Program>

/** The request that repeats a turn with the same message. It uses the version of the program that this process has. */
export function retrySpec(programs: Programs, view: View, run: Run): RunSpec {
  checkVisible(view, run)
  const { message, resume, data } = requestFor(view, run.runId) ?? {}
  const { program = '' } = run
  return {
    program: resume ? program : availableVersionOf(programs, program),
    cut: { toSequence: run.at - 1, reason: 'retry' },
    ...(message && { message }),
    ...(resume && { resume }),
    ...(data !== undefined && { data }),
  }
}

/**
 * The latest run that started with a message. Several can, because a repeated turn has the same message.
 * @throws {RunError} `run_unknown` if there is none.
 */
export function runOfMessage(view: View, messageId: string): Run {
  const lastRequest = view.requests.findLast(
    ({ message, status }) => message?.messageId === messageId && status === 'started',
  )
  if (lastRequest) return runOf(view, lastRequest.runId)
  const isQueued = view.requests.some(({ message, status }) => message?.messageId === messageId && status === 'waiting')
  const why = isQueued
    ? 'its run has not started: stop that run and start another'
    : 'only a message that started a run can be edited'
  throw new RunError('run_unknown', `message ${messageId} cannot be edited: ${why}`)
}

/** The request that replaces the message of a turn, its data and its answer. */
export function editSpec(programs: Programs, view: View, run: Run, input: UserInput, newMessageId?: string): RunSpec {
  const { data, ...spec } = retrySpec(programs, view, run)
  const toSequence = run.at - 1
  const message = messageOf(input, newMessageId)
  checkNewMessageId(view, message.messageId, toSequence)
  return { ...spec, cut: { toSequence, reason: 'edit' }, message }
}
