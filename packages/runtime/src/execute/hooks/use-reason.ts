// The model call of a node: it streams, uses tools, gives an object that fits, and may ask a person before it goes on.

import { type BatchItem, LogError } from '@millrace/log'
import type { Json, JsonObject } from '@millrace/protocol'
import type { AnyTool } from '../../define/tool.ts'
import { MillraceError } from '../../error/error.ts'
import { logErrorCode } from '../../error/log-error.ts'
import type { Schema } from '../../schema/schema.ts'
import type { OutputSettings, StructuredIdentity } from '../output-stream.ts'
import { cleanUpHook } from '../replay/cleanup.ts'
import { currentExecution, type HookCall, suppressUnhandled } from '../replay/execution.ts'
import { checkpointOf, firstPassId, hookRecordEntry, hookStreamId } from '../replay/journal.ts'
import { hookPassSteps } from './hook-message.ts'
import { continued, envelopeOf, type FirstPass, isAsking, type ReasonInterrupt } from './interrupt-pass.ts'
import { prefixOf, type Reasoned, type ReasonSettings, reason } from './reason.ts'
import type { ReasonOptions, ReasonResult, SchemaOutput } from './reason-options.ts'
import { type AnyReasonOptions, type Plan, planOf } from './reason-plan.ts'
import { resultOf } from './reason-result.ts'
import { ask, isAskable } from './use-interrupt.ts'

/** Asks a model, and gives what it answered: once that is in the log it is neither asked nor shown again. */
export function useReason<
  O extends Schema | undefined = undefined,
  R extends Schema | undefined = undefined,
  const Tools extends readonly AnyTool[] = readonly AnyTool[],
>(
  options: ReasonOptions<O, R, Tools>,
): Promise<ReasonResult<SchemaOutput<O>, (R extends Schema ? SchemaOutput<R> : Json) | undefined>> {
  return suppressUnhandled(reasoned(options as unknown as AnyReasonOptions)) as ReturnType<
    typeof useReason<O, R, Tools>
  >
}

async function reasoned(options: AnyReasonOptions): Promise<ReasonResult> {
  const execution = currentExecution('useReason')
  const plan = planOf(options)
  const value = await execution.call('useReason', plan.id, async call => {
    try {
      const { result, said } = await (plan.interrupt ? workWithPerson(call, plan, plan.interrupt) : work(call, plan))
      return { value: result as unknown as Json, entries: said }
    } catch (error) {
      throw await failed(call, plan, error)
    }
  })
  return { output: undefined, interruptResponse: undefined, ...(value as object) } as ReasonResult
}

/** What a hook comes to, and what its commit says beside. */
interface Worked {
  readonly result: ReasonResult
  readonly said: readonly BatchItem[]
}

async function work(call: HookCall, plan: Plan): Promise<Worked> {
  const done = await reason(call, settingsOf(call, plan, 1))
  return { result: resultOf(plan, [done]), said: done.said }
}

function settingsOf(call: HookCall, plan: Plan, pass: number): ReasonSettings {
  const { id, agent, messages, isShown, areThoughtsShown, output, interrupt, responseFormat, abortSignal } = plan
  return {
    agent,
    hook: id === undefined ? 'useReason' : `useReason ${id}`,
    messages,
    isShown,
    areThoughtsShown,
    isTextShown: interrupt === undefined,
    pass,
    abortSignal,
    ...(responseFormat && { responseFormat }),
    ...(output && { output: { schema: output.schema, ...shownOf(call, plan) } }),
  }
}

/** The object that readers see while it comes to be. */
function shownOf(call: HookCall, { structured, id }: Plan): Pick<OutputSettings, 'fields' | 'identity'> {
  if (structured === undefined) return { fields: {} }
  const { dataType = 'generic', schemaId, schemaVersion, fields = {}, stream = true } = structured
  const shown: StructuredIdentity = {
    streamId: streamIdOf(call),
    dataType,
    ...(schemaId !== undefined && { schemaId }),
    ...(schemaVersion !== undefined && { schemaVersion }),
    ...(id !== undefined && { id }),
    node: call.execution.at.node,
  }
  return { identity: shown, fields: stream ? fields : {} }
}

const streamIdOf = ({ hookId, execution }: HookCall): string => hookStreamId(execution.work.runId, hookId)

/** Whether readers see an object of the call that is not done, as far as the log was read. */
const isShown = (call: HookCall): boolean =>
  call.execution.work.session.structured(streamIdOf(call))?.status === 'streaming'

/** First the model says what it would ask, then a person answers, then the model says the rest. */
async function workWithPerson(
  call: HookCall,
  plan: Plan,
  interrupt: ReasonInterrupt<Schema | undefined>,
): Promise<Worked> {
  const { execution, hookId } = call
  const key = firstPassId(hookId)
  let first = execution.replay.resultsUnder(key)[0]?.value as unknown as FirstPass | undefined
  let said: Reasoned['said'] = []
  if (first === undefined) {
    const { said: words, output: given, ...done } = await firstPass(call, plan, interrupt)
    const document = given as JsonObject
    first = { ...done, document }
    if (!isAsking(document)) {
      const { output, draftText } = document
      const text = typeof draftText === 'string' ? draftText : JSON.stringify(output)
      return { result: resultOf(plan, [{ ...done, text, output }]), said: words }
    }
    const record = { hookId: key, hook: 'useReason', result: { value: first as unknown as Json } }
    said = [...words, hookRecordEntry(record, call.lane)]
  }
  const { responseSchema } = interrupt
  const request = first.document['interruptRequest'] as never
  const response = await ask(call, { request, responseSchema, ...aboutOf(interrupt) }, said)
  const toolCallIds = first.steps.flatMap(step => step.toolCallIds)
  const words = await hookPassSteps(call, {
    prefix: prefixOf(call, 1),
    toolCallIds: () => toolCallIds,
    isShown: plan.isShown,
  })
  const settings = settingsOf(call, plan, 2)
  // Only as long as it is there: one of several steps takes it away.
  const replaces = () => (isShown(call) ? 'continued' : undefined)
  const done = await reason(call, {
    ...settings,
    messages: [...plan.messages, ...continued(first, words, response)],
    ...(settings.output && { output: { ...settings.output, replacementReason: replaces } }),
  })
  return {
    result: { ...resultOf(plan, [{ ...first, output: undefined }, done]), interruptResponse: response },
    said: done.said,
  }
}

/** What goes along with a question. */
const aboutOf = ({ schemaId, schemaVersion }: ReasonInterrupt<Schema | undefined>) => ({
  ...(schemaId !== undefined && { schemaId }),
  ...(schemaVersion !== undefined && { schemaVersion }),
})

function firstPass(call: HookCall, plan: Plan, interrupt: ReasonInterrupt<Schema | undefined>): Promise<Reasoned> {
  const envelope = envelopeOf(plan.output, interrupt, question => isAskable(call, question, aboutOf(interrupt)))
  // A format that was asked for is that of the answer, which this is not yet.
  const { responseFormat, ...settings } = settingsOf(call, plan, 1)
  return reason(call, {
    ...settings,
    agent: { ...plan.agent, output: envelope },
    output: {
      ...shownOf(call, plan),
      schema: envelope.schema,
      field: 'output',
      isFinal: document => !isAsking(document),
    },
  })
}

/** Takes back what a call that failed was saying, and tells why it did, in words that the log can keep. */
async function failed(call: HookCall, { abortSignal }: Plan, error: unknown): Promise<unknown> {
  const { execution, lane } = call
  const { work: flow } = execution
  // What is wrong with the log is not about the call, unless it was too large for it.
  const isOfLog = error instanceof LogError && logErrorCode(error) !== 'too-large'
  if (isOfLog || call.signal.aborted || flow.signal.aborted) return error
  const isCut = abortSignal?.aborted === true && error === abortSignal.reason
  const failure = isCut
    ? new MillraceError('hook_aborted', 'useReason was cut off by its abortSignal', { cause: error })
    : error
  const { code } = MillraceError.isInstance(failure) ? failure : { code: 'hook_failed' }
  await execution.usage.discard(call.hookId, lane, { reason: code, attempt: execution.replay.failures + 1 })
  await cleanUpHook(call, code)
  await flow.session.refresh()
  if (isShown(call)) {
    const invalidated = { type: 'structured-data-invalidated', streamId: streamIdOf(call), reason: code } as const
    await lane.commit([invalidated, checkpointOf(lane)])
  }
  return failure
}
