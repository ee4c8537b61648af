// One try at a node: its code, what it returned, and what becomes of an error.

import { LogError } from '@millrace/log'
import type { Json, Usage } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { sleep } from '../../async/sleep.ts'
import { unlessAborted } from '../../async/unless-aborted.ts'
import type { Node, NodeContext, NodeFailure, NodeResult } from '../../define/node.ts'
import { describeType } from '../../error/check-object.ts'
import { MillraceError, ValidationError } from '../../error/error.ts'
import { DEFAULT_BACKOFF } from '../../model/backoff.ts'
import { deepCopy } from '../../schema/deep-copy.ts'
import { toJson } from '../../schema/json.ts'
import { askAgent } from '../hooks/ask-agent.ts'
import { dropQuestions } from '../hooks/use-interrupt.ts'
import { emitStructured } from '../hooks/use-structured-data.ts'
import { discardChildLanes, endOpenCalls, invalidateUnfinishedObjects } from '../replay/cleanup.ts'
import { type NodeExecution, withoutHooks } from '../replay/execution.ts'
import { resumedRunIds } from '../replay/resume-point.ts'

/** What became of a try. */
export type NodeAttempt =
  | { readonly outcome: 'done'; readonly data?: Json; readonly condition?: string; readonly transitionTo?: string }
  | { readonly outcome: 'again' }
  | { readonly outcome: 'routed'; readonly to: string; readonly failure: Json }

/** Runs a node once; throws where the run ends with it. Nothing came of it where it was not begun: another process is to go on. */
export async function attemptNode(execution: NodeExecution, node: Node): Promise<NodeAttempt | undefined> {
  const { work, at } = execution
  if ((at.failures ?? 0) > 0) await unlessAborted(pause(execution, node), work.signal)
  if (execution.signal.aborted || work.handover.aborted) return undefined
  try {
    const returned = await unlessAborted(
      execution.run(() => runOf(node, execution)),
      work.signal,
    )
    const result = resultOf(node, returned)
    await show(execution, result.ui)
    // What its state would be is the node's own fault, too.
    execution.prepareFinalCommit()
    await dropQuestions(execution)
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
    // What is wrong with the log is not about the node; and code that is not what it was will not be by being tried again.
    if (error instanceof LogError || isChanged(error)) throw error
    return failed(execution, node, error, (at.failures ?? 0) + 1)
  }
}

const isChanged = (error: unknown): boolean => MillraceError.isInstance(error) && error.code === 'workflow_changed'

/** Waits before a node is tried again, as long as somebody here would begin it. */
async function pause({ work, at, signal }: NodeExecution, { retry }: Node): Promise<void> {
  const { failures = 1 } = at
  const backoff = { ...DEFAULT_BACKOFF, ...work.backoff, ...retry?.backoff }
  const ms = Math.min(backoff.first * 2 ** (failures - 1), backoff.longest)
  await sleep(work.timers, ms, AbortSignal.any([signal, work.handover])).catch(() => {})
}

async function runOf(node: Node, execution: NodeExecution): Promise<unknown> {
  const { at } = execution
  if (node.agent === undefined) return node.run(contextOf(node, execution))
  const { output, text } = await askAgent(execution, node.agent, node.prompt(deepCopy(at.input)))
  // That of a finishing tool may be null.
  return { data: output === undefined ? text : output }
}

/** What the code of a node is given. */
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
    // What it goes on from is the same work, whose words come and go as its own do.
    get messages() {
      const own: readonly (string | undefined)[] = [...resumedRunIds(session, runId), runId]
      return deepCopy(session.view.messages.filter(({ parent, runId }) => parent === undefined && !own.includes(runId)))
    },
    // Code that decides by it decides the same when it starts again.
    get tokenUsage() {
      return execution.callSync('tokenUsage', undefined, () => session.run(runId)?.usage ?? {}) as Usage
    },
    abortSignal: execution.signal,
  }
}

/** The fields of what a node may return. */
const FIELDS = ['data', 'ui', 'condition', 'transitionTo']

/** What a node returned; throws where it is nothing that a node may return. */
function resultOf({ id }: Node, returned: unknown): NodeResult<Json> {
  if (returned === undefined || returned === null) return {}
  // What it returned is private, its fields too: those are for the logger.
  const wrong = (what: string, field?: string) => {
    const cause = field === undefined ? undefined : new Error(`there is no field ${field}`)
    return new ValidationError(`node ${id} returned ${what}`, { cause })
  }
  if (typeof returned !== 'object' || Array.isArray(returned)) {
    throw wrong(
      `${describeType(returned)}: expected { data, ui, condition, transitionTo }, of which data is for the next node`,
    )
  }
  const other = Object.keys(returned).find(key => !FIELDS.includes(key))
  if (other !== undefined) {
    throw wrong(
      'a field that no node may: expected data, ui, condition or transitionTo; for the next node, in data',
      other,
    )
  }
  const { data, ui, condition, transitionTo } = returned as NodeResult
  if (ui !== undefined) checkUi(ui, wrong)
  for (const [what, text] of Object.entries({ condition, transitionTo, 'ui.message': ui?.message })) {
    if (text !== undefined && typeof text !== 'string') throw wrong(`as ${what} ${describeType(text)}: expected text`)
  }
  return {
    ...(data !== undefined && { data: toJson(data, () => wrong('data that is not JSON')) }),
    ...(ui !== undefined && { ui }),
    ...(condition !== undefined && { condition }),
    ...(transitionTo !== undefined && { transitionTo }),
  }
}

function checkUi(ui: unknown, wrong: (what: string, field?: string) => Error): void {
  if (!isObject(ui)) throw wrong(`as ui ${describeType(ui)}: expected { message, structured }`)
  const other = Object.keys(ui).find(key => key !== 'message' && key !== 'structured')
  if (other !== undefined) throw wrong('as ui a field that it has not: expected message or structured', other)
  const { structured } = ui
  if (structured === undefined || (isObject(structured) && 'data' in structured)) return
  throw wrong('as ui.structured what has no data: expected { data }')
}

/** Says what a node shows at its end. */
async function show(execution: NodeExecution, ui: NodeResult['ui']): Promise<void> {
  const { work, at } = execution
  const { message = '', structured } = ui ?? {}
  if (message.trim() !== '') {
    if (execution.hasText(message) && process.env['NODE_ENV'] !== 'production') {
      work.logger.warn('a text is shown twice: useReason has streamed what ui.message says again', {
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

/** Whether the words of an error may be shown: not those of what code of a step threw, which the log has kept. */
const isForPeople = (error: unknown): error is MillraceError =>
  MillraceError.isInstance(error) && error.code !== 'hook_failed'

/** Whether a node may run again after an error; not where its rule cannot tell. */
function isMeant({ work, at }: NodeExecution, { when }: NonNullable<Node['retry']>, error: unknown): boolean {
  try {
    // What code threw in a hook is what it is asked about.
    const isHooks = MillraceError.isInstance(error) && error.code === 'hook_failed' && error.cause !== undefined
    return withoutHooks(() => when(isHooks ? error.cause : error))
  } catch (cause) {
    work.logger.warn('retry.when of a node failed', { runId: work.runId, node: at.node, cause })
    return false
  }
}

/** What is wrong with how a node ended, told when that is to be committed. */
export class NodeEndError extends Error {}

/** What becomes of a node whose end could not be committed: it would end the same if it were tried again. */
export function failedAtEnd(execution: NodeExecution, node: Node, { cause }: NodeEndError): Promise<NodeAttempt> {
  return failed(execution, { ...node, retry: undefined }, cause, (execution.at.failures ?? 0) + 1)
}

/** What becomes of a node that failed. */
async function failed(execution: NodeExecution, node: Node, error: unknown, failures: number): Promise<NodeAttempt> {
  const { work, at } = execution
  const { retry, onError } = node
  const failure = isForPeople(error)
    ? error
    : new MillraceError('workflow_node_failed', `node ${node.id} failed`, { cause: error })
  const { runId, logger } = work
  logger.warn('a node failed', { runId, node: node.id, failures, code: failure.code, cause: failure.cause ?? failure })
  execution.telemetry.end('failed', failure)
  await execution.discard(failure)
  await discardChildLanes(execution, failure.code)
  // What was shown and taken back is not there for the next try.
  await work.session.refresh()
  if (retry && failures < retry.attempts && isMeant(execution, retry, error)) return { outcome: 'again' }
  if (onError.mode === 'stop') throw failure
  await dropQuestions(execution)
  await endOpenCalls(execution)
  await invalidateUnfinishedObjects(execution, failure.code)
  switch (onError.mode) {
    case 'continue':
      return { outcome: 'done', ...(onError.data !== undefined && { data: onError.data }) }
    case 'route': {
      const { code, message } = failure
      const { input = null } = at
      const logged: NodeFailure = { node: node.id, code, message, input }
      return { outcome: 'routed', to: onError.to, failure: logged as unknown as Json }
    }
  }
}
