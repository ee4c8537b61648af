// The hook `useReason`: calls a model in a node, with tools, structured output and optional interrupts.

import { type BatchItem, LogError } from '@millrace/log'
import type { Json, JsonObject } from '@millrace/protocol'
import type { AnyTool } from '../../define/tool.ts'
import { MillraceError } from '../../error/error.ts'
import { isIncompleteAnswer } from '../../error/error-codes.ts'
import { logErrorCode } from '../../error/log-error-code.ts'
import type { Schema } from '../../schema/schema.ts'
import type { OutputSettings, StructuredIdentity } from '../output-stream.ts'
import { cleanUpHook } from '../replay/cleanup.ts'
import { currentExecution, type HookCall, suppressUnhandled } from '../replay/execution.ts'
import { checkpointOf, firstPassId, hookRecordEntry, hookStreamId } from '../replay/journal.ts'
import { hookPassSteps } from './hook-message.ts'
import {
  asksPerson,
  type FirstPass,
  firstPassSchema,
  type ReasonInterrupt,
  secondPassMessages,
} from './interrupt-pass.ts'
import { prefixOf, type ReasonOutcome, type ReasonSettings, reason } from './reason.ts'
import type { ReasonOptions, ReasonResult, SchemaOutput } from './reason-options.ts'
import { type AnyReasonOptions, planOf, type ReasonPlan } from './reason-plan.ts'
import { resultOf } from './reason-result.ts'
import { ask, isAskable } from './use-interrupt.ts'

/**
 * Calls a model and returns its answer. Once the answer is in the log, it is neither requested nor shown again.
 * @throws {ValidationError} if an option is invalid.
 * @throws {MillraceError} `hook_aborted` after an abort, or the error of the model.
 */
export function useReason<
  O extends Schema | undefined = undefined,
  R extends Schema | undefined = undefined,
  const Tools extends readonly AnyTool[] = readonly AnyTool[],
>(
  options: ReasonOptions<O, R, Tools>,
): Promise<ReasonResult<SchemaOutput<O>, (R extends Schema ? SchemaOutput<R> : Json) | undefined>> {
  return suppressUnhandled(callModelHook(options as unknown as AnyReasonOptions)) as ReturnType<
    typeof useReason<O, R, Tools>
  >
}

async function callModelHook(options: AnyReasonOptions): Promise<ReasonResult> {
  const execution = currentExecution('useReason')
  const plan = planOf(options)
  const value = await execution.call('useReason', plan.id, async call => {
    try {
      const { result, entries } = await (plan.interrupt
        ? runWithInterrupt(call, plan, plan.interrupt)
        : runPass(call, plan))
      return { value: result as unknown as Json, entries }
    } catch (error) {
      throw await cleanUpFailure(call, plan, error)
    }
  })
  return { output: undefined, interruptResponse: undefined, ...(value as object) } as ReasonResult
}

/** The result of the hook, with the entries for its commit. */
interface ReasonWork {
  readonly result: ReasonResult
  readonly entries: readonly BatchItem[]
}

async function runPass(call: HookCall, plan: ReasonPlan): Promise<ReasonWork> {
  const done = await reason(call, settingsOf(call, plan, 1))
  return { result: resultOf(plan, [done]), entries: done.entries }
}

function settingsOf(call: HookCall, plan: ReasonPlan, pass: number): ReasonSettings {
  const { id, agent, messages, isShown, isReasoningShown, output, interrupt, responseFormat, abortSignal } = plan
  return {
    agent,
    hook: id === undefined ? 'useReason' : `useReason ${id}`,
    messages,
    isShown,
    isReasoningShown,
    isTextShown: interrupt === undefined,
    pass,
    abortSignal,
    ...(responseFormat && { responseFormat }),
    ...(output && { output: { schema: output.schema, ...shownObject(call, plan) } }),
  }
}

/** The object that readers see while it streams. */
function shownObject(call: HookCall, { structured, id }: ReasonPlan): Pick<OutputSettings, 'fields' | 'identity'> {
  if (structured === undefined) return { fields: {} }
  const { dataType = 'generic', schemaId, schemaVersion, fields = {}, stream = true } = structured
  const identity: StructuredIdentity = {
    streamId: streamIdOf(call),
    dataType,
    ...(schemaId !== undefined && { schemaId }),
    ...(schemaVersion !== undefined && { schemaVersion }),
    ...(id !== undefined && { id }),
    node: call.execution.at.node,
  }
  return { identity, fields: stream ? fields : {} }
}

const streamIdOf = ({ hookId, execution }: HookCall): string => hookStreamId(execution.work.runId, hookId)

/** Whether readers see an unfinished object of the call, as far as the log was read. */
const isShown = (call: HookCall): boolean =>
  call.execution.work.session.structured(streamIdOf(call))?.status === 'streaming'

/** First pass: the model returns a request. Then a person responds. Second pass: the model answers. */
async function runWithInterrupt(
  call: HookCall,
  plan: ReasonPlan,
  interrupt: ReasonInterrupt<Schema | undefined>,
): Promise<ReasonWork> {
  const { execution, hookId } = call
  const key = firstPassId(hookId)
  let first = execution.replay.resultsUnder(key)[0]?.value as unknown as FirstPass | undefined
  let requestEntries: ReasonOutcome['entries'] = []
  if (first === undefined) {
    const { entries: firstEntries, output: firstOutput, ...done } = await firstPass(call, plan, interrupt)
    const document = firstOutput as JsonObject
    first = { ...done, document }
    if (!asksPerson(document)) {
      const { output, draftText } = document
      const text = typeof draftText === 'string' ? draftText : JSON.stringify(output)
      return { result: resultOf(plan, [{ ...done, text, output }]), entries: firstEntries }
    }
    const record = { hookId: key, hook: 'useReason', result: { value: first as unknown as Json } }
    requestEntries = [...firstEntries, hookRecordEntry(record, call.lane)]
  }
  const { responseSchema } = interrupt
  const request = first.document['interruptRequest'] as never
  const response = await ask(call, { request, responseSchema, ...interruptFields(interrupt) }, requestEntries)
  const toolCallIds = first.steps.flatMap(step => step.toolCallIds)
  const firstSteps = await hookPassSteps(call, {
    prefix: prefixOf(call, 1),
    toolCallIds: () => toolCallIds,
    isShown: plan.isShown,
  })
  const settings = settingsOf(call, plan, 2)
  // Only while the object is shown: a step may have withdrawn it already.
  const replacementReason = () => (isShown(call) ? 'continued' : undefined)
  const done = await reason(call, {
    ...settings,
    messages: [...plan.messages, ...secondPassMessages(first, firstSteps, response)],
    ...(settings.output && { output: { ...settings.output, replacementReason } }),
  })
  return {
    result: { ...resultOf(plan, [{ ...first, output: undefined }, done]), interruptResponse: response },
    entries: done.entries,
  }
}

/** Optional fields of an interrupt. */
const interruptFields = ({ schemaId, schemaVersion }: ReasonInterrupt<Schema | undefined>) => ({
  ...(schemaId !== undefined && { schemaId }),
  ...(schemaVersion !== undefined && { schemaVersion }),
})

function firstPass(
  call: HookCall,
  plan: ReasonPlan,
  interrupt: ReasonInterrupt<Schema | undefined>,
): Promise<ReasonOutcome> {
  const fits = (question: object) => isAskable(call, question, interruptFields(interrupt))
  const envelope = firstPassSchema(plan.output, interrupt, fits, call.execution.work.formChecks)
  // `responseFormat` applies to the answer, not to the first pass.
  const { responseFormat, ...settings } = settingsOf(call, plan, 1)
  return reason(call, {
    ...settings,
    agent: { ...plan.agent, outputSchema: envelope.schema, jsonSchema: envelope.jsonSchema },
    output: {
      ...shownObject(call, plan),
      schema: envelope.schema,
      field: 'output',
      isFinal: document => !asksPerson(document),
    },
  })
}

/** Discards the draft of a failed call, unless it is the text of an incomplete answer. Returns the error to log. */
async function cleanUpFailure(
  call: HookCall,
  { abortSignal, structured }: ReasonPlan,
  error: unknown,
): Promise<unknown> {
  const { execution, lane } = call
  const { work } = execution
  // Errors of the log do not concern the call, unless it was too large.
  const isLogError = error instanceof LogError && logErrorCode(error) !== 'too-large'
  if (isLogError || call.signal.aborted || work.signal.aborted) return error
  const isAborted = abortSignal?.aborted === true && error === abortSignal.reason
  const failure = isAborted
    ? new MillraceError('hook_aborted', 'useReason was aborted by its abortSignal', { cause: error })
    : error
  const { code } = MillraceError.isInstance(failure) ? failure : { code: 'hook_failed' }
  // The run fails with it, unless the node catches the error. Then the draft stays until the end of the run.
  if (isIncompleteAnswer({ code }) && structured === undefined) return failure
  await execution.usage.discard(call.hookId, lane, { reason: code, attempt: execution.replay.failures + 1 })
  await cleanUpHook(call, code)
  await work.session.current()
  if (isShown(call)) {
    const invalidated = { type: 'structured-data-invalidated', streamId: streamIdOf(call), reason: code } as const
    await lane.commit([invalidated, checkpointOf(lane)])
  }
  return failure
}
