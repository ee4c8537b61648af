// One attempt of a node: runs its code, validates its result and handles its error.

import { LogError } from '@millrace/log'
import type { Json, Usage } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { backoffMs } from '@millrace/protocol/retry'
import { sleep } from '../../async/sleep.ts'
import { unlessAborted } from '../../async/unless-aborted.ts'
import type { Node, NodeContext, NodeFailure, NodeResult } from '../../define/node.ts'
import { describeType } from '../../error/check-object.ts'
import { MillraceError, ValidationError } from '../../error/error.ts'
import { isIncompleteAnswer } from '../../error/error-codes.ts'
import { DEFAULT_BACKOFF } from '../../model/backoff.ts'
import { deepCopy } from '../../schema/deep-copy.ts'
import { toJson } from '../../schema/json.ts'
import { jsonSizeAtLeast } from '../../schema/json-size.ts'
import { runAgentNode } from '../hooks/agent-node.ts'
import { settleOpenInterrupts } from '../hooks/use-interrupt.ts'
import { emitStructured } from '../hooks/use-structured-data.ts'
import { discardChildLanes, endOpenCalls, invalidateUnfinishedObjects } from '../replay/cleanup.ts'
import { type NodeExecution, withoutHooks } from '../replay/execution.ts'
import { resumedRunIds } from '../replay/resume-point.ts'

/** Result of an attempt. */
export type NodeAttempt =
  | { readonly outcome: 'done'; readonly data?: Json; readonly condition?: string; readonly transitionTo?: string }
  | { readonly outcome: 'retry' }
  | { readonly outcome: 'routed'; readonly to: string; readonly failure: Json }

/**
 * Runs a node once. Returns undefined if it did not start because another process takes over.
 * @throws if the run fails with it.
 */
export async function attemptNode(execution: NodeExecution, node: Node): Promise<NodeAttempt | undefined> {
  const { work, at } = execution
  if ((at.failures ?? 0) > 0) await unlessAborted(waitBeforeRetry(execution, node), work.signal)
  if (execution.signal.aborted || work.handover.aborted) return undefined
  try {
    const returned = await unlessAborted(
      execution.run(() => runNode(node, execution)),
      work.signal,
    )
    const result = resultOf(node, returned, work.writer.maxValueBytes)
    await writeUi(execution, result.ui)
    // A state that cannot be stored is an error of the node.
    execution.prepareFinalCommit()
    await settleOpenInterrupts(execution)
    await endOpenCalls(execution)
    await invalidateUnfinishedObjects(execution, 'unfinished')
    const { data, condition, transitionTo } = result
    return {
      outcome: 'done',
      ...(data !== undefined && { data: data as Json }),
      ...(condition !== undefined && { condition }),
      ...(transitionTo !== undefined && { transitionTo }),
    }
  } catch (error) {
    work.signal.throwIfAborted()
    // Errors of the log do not concern the node, and changed code does not get better by a retry.
    if (error instanceof LogError || isChanged(error)) throw error
    if (error instanceof NodeEndError) return handleFailureAtEnd(execution, node, error)
    return handleFailure(execution, node, error, (at.failures ?? 0) + 1)
  }
}

const isChanged = (error: unknown): boolean => MillraceError.isInstance(error) && error.code === 'workflow_changed'

/** Waits before a retry, as long as this process would start it. */
async function waitBeforeRetry({ work, at, signal }: NodeExecution, { retry }: Node): Promise<void> {
  const { failures = 1 } = at
  const backoff = { ...DEFAULT_BACKOFF, ...work.backoff, ...retry?.backoff }
  await sleep(work.timers, backoffMs(backoff, failures - 1), AbortSignal.any([signal, work.handover])).catch(() => {})
}

async function runNode(node: Node, execution: NodeExecution): Promise<unknown> {
  const { at } = execution
  if (node.agent === undefined) return node.run(contextOf(node, execution))
  const { output, text } = await runAgentNode(execution, node.agent, node.prompt(deepCopy(at.input)))
  // A finishing tool may return null.
  return { data: output === undefined ? text : output }
}

/** The context of a node function. */
function contextOf({ id, params }: Node, execution: NodeExecution): NodeContext<unknown, unknown> {
  const { work, at } = execution
  const { session, runId } = work
  return {
    input: deepCopy(at.input),
    params,
    node: id,
    step: at.step,
    sessionId: session.id,
    runId,
    get data() {
      return deepCopy(work.data)
    },
    // Without the messages of resumed runs, which belong to the same execution.
    get messages() {
      const runIds: readonly (string | undefined)[] = [...resumedRunIds(session, runId), runId]
      return deepCopy(
        session.view.messages.filter(({ parent, runId }) => parent === undefined && !runIds.includes(runId)),
      )
    },
    // Recorded, so that a replay decides the same.
    get tokenUsage() {
      return execution.callSync('tokenUsage', undefined, () => session.run(runId)?.usage ?? {}) as Usage
    },
    abortSignal: execution.signal,
  }
}

/** The fields of a node's result. */
const FIELDS = ['data', 'ui', 'condition', 'transitionTo']

/** Validates a node's result. @throws {ValidationError} if it is malformed. @throws {NodeEndError} if it is surely too large. */
function resultOf({ id }: Node, returned: unknown, maxBytes: number): NodeResult<Json> {
  if (returned === undefined || returned === null) return {}
  // The result is private, including its keys: these go only to the logger.
  const wrong = (problem: string, field?: string) => {
    const cause = field === undefined ? undefined : new Error(`there is no field ${field}`)
    return new ValidationError(`node ${id} returned ${problem}`, { cause })
  }
  if (typeof returned !== 'object' || Array.isArray(returned)) {
    throw wrong(
      `${describeType(returned)}: expected { data, ui, condition, transitionTo }: data is the input of the next node`,
    )
  }
  const other = Object.keys(returned).find(key => !FIELDS.includes(key))
  if (other !== undefined) {
    throw wrong('an unknown field: expected data, ui, condition or transitionTo', other)
  }
  const { data, ui, condition, transitionTo } = returned as NodeResult
  if (ui !== undefined) checkUi(ui, wrong)
  for (const [fieldName, text] of Object.entries({ condition, transitionTo, 'ui.message': ui?.message })) {
    if (text !== undefined && typeof text !== 'string')
      throw wrong(`${describeType(text)} as ${fieldName}: expected text`)
  }
  if (data !== undefined && jsonSizeAtLeast(data, maxBytes) > maxBytes) throw resultTooLargeError(id)
  return {
    ...(data !== undefined && { data: toJson(data, () => wrong('data that is not JSON')) }),
    ...(ui !== undefined && { ui }),
    ...(condition !== undefined && { condition }),
    ...(transitionTo !== undefined && { transitionTo }),
  }
}

function checkUi(ui: unknown, wrong: (problem: string, field?: string) => Error): void {
  if (!isObject(ui)) throw wrong(`${describeType(ui)} as ui: expected { message, structured }`)
  const other = Object.keys(ui).find(key => key !== 'message' && key !== 'structured')
  if (other !== undefined) throw wrong('an unknown field of ui: expected message or structured', other)
  const { structured } = ui
  if (structured === undefined || (isObject(structured) && 'data' in structured)) return
  throw wrong('a value without data as ui.structured: expected { data }')
}

/** Writes the content that a node shows at its end. */
async function writeUi(execution: NodeExecution, ui: NodeResult['ui']): Promise<void> {
  const { work, at } = execution
  const { message = '', structured } = ui ?? {}
  if (message.trim() !== '') {
    if (execution.hasText(message) && process.env['NODE_ENV'] !== 'production') {
      work.logger.warn('a text is shown twice: useReason has already streamed the text of ui.message', {
        runId: work.runId,
        node: at.node,
      })
    }
    const id = `${at.execution}/message`
    await execution.emit({ type: 'text-start', id })
    await execution.emit({ type: 'text-delta', id, delta: message })
    await execution.emit({ type: 'text-end', id })
  }
  if (structured !== undefined) await emitStructured(execution, { ...structured, kind: 'final' }, 'ui.structured')
}

/** Whether the message of an error is public. Errors thrown by the code of a hook are not. */
const isPublicError = (error: unknown): error is MillraceError =>
  MillraceError.isInstance(error) && error.code !== 'hook_failed'

/** Whether to retry a node after an error; false if `when` throws. */
function shouldRetry({ work, at }: NodeExecution, { when }: NonNullable<Node['retry']>, error: unknown): boolean {
  try {
    // `when` gets the error that the code threw in a hook.
    const isHookError = MillraceError.isInstance(error) && error.code === 'hook_failed' && error.cause !== undefined
    return withoutHooks(() => when(isHookError ? error.cause : error))
  } catch (cause) {
    work.logger.warn('retry.when of a node failed', { runId: work.runId, node: at.node, cause })
    return false
  }
}

/** The end of a node cannot be committed. */
export class NodeEndError extends Error {}

/** The error for a result that the log does not accept. */
export function resultTooLargeError(node: string, cause?: unknown): NodeEndError {
  const problem = `the result of node ${node} exceeds the size limit of the log: return less, or a reference`
  return new NodeEndError(problem, { cause: new MillraceError('hook_result_too_large', problem, { cause }) })
}

/** Handles a node whose end could not be committed, without a retry: it would fail again. */
export function handleFailureAtEnd(
  execution: NodeExecution,
  node: Node,
  { cause }: NodeEndError,
): Promise<NodeAttempt> {
  return handleFailure(execution, { ...node, retry: undefined }, cause, (execution.at.failures ?? 0) + 1)
}

/** Handles a failed attempt: retry, continue, route or stop. */
async function handleFailure(
  execution: NodeExecution,
  node: Node,
  error: unknown,
  failures: number,
): Promise<NodeAttempt> {
  const { work, at } = execution
  const { retry, onError } = node
  const failure = isPublicError(error)
    ? error
    : new MillraceError('workflow_node_failed', `node ${node.id} failed`, { cause: error })
  const { runId, logger } = work
  logger.warn('a node failed', { runId, node: node.id, failures, code: failure.code, cause: failure.cause ?? failure })
  execution.telemetry.end('failed', failure)
  const isRetried = retry !== undefined && failures < retry.attempts && shouldRetry(execution, retry, error)
  if (!isRetried && onError.mode === 'stop' && isIncompleteAnswer(failure)) {
    // The end of the run seals the text of the incomplete answer.
    await execution.abortHooks()
    throw failure
  }
  await execution.discard(failure)
  await discardChildLanes(execution, failure.code)
  // Discarded content must not be visible to the next attempt.
  await work.session.current()
  if (isRetried) return { outcome: 'retry' }
  if (onError.mode === 'stop') throw failure
  await settleOpenInterrupts(execution)
  await endOpenCalls(execution)
  await invalidateUnfinishedObjects(execution, failure.code)
  switch (onError.mode) {
    case 'continue':
      return { outcome: 'done', ...(onError.data !== undefined && { data: onError.data }) }
    case 'route': {
      const { code, message } = failure
      const { input = null } = at
      const nodeFailure: NodeFailure = { node: node.id, code, message, input }
      return { outcome: 'routed', to: onError.to, failure: nodeFailure as unknown as Json }
    }
  }
}
