// Runs a model for a hook. It runs like an agent, with tools and approvals, on the hook's lane and in the workflow's
// message.

import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { BatchItem } from '@millrace/log'
import type { FinishReason, Json, JsonObject, Message, ToolPart, Usage } from '@millrace/protocol'
import type { Agent } from '../../define/agent.ts'
import { runAgent } from '../agent/run-agent.ts'
import { type OutputSettings, OutputStream } from '../output-stream.ts'
import type { AgentExecution, CompletedModelCall } from '../program-execution.ts'
import { type HookCall, withoutHooks } from '../replay/execution.ts'
import { type HookRecord, hookRecordEntry } from '../replay/journal.ts'
import { hookMessage } from './hook-message.ts'
import { totalOf } from './reason-result.ts'

/** One model call of a hook, as stored in the log. */
export interface ReasonStep {
  /** Text of the answer. */
  readonly text: string
  /** Ids of the tool calls of the answer. */
  readonly toolCallIds: readonly string[]
  /** Why the model stopped. */
  readonly finishReason: FinishReason
  /** Including discarded attempts. */
  readonly usage?: Usage
  /** Warnings of the provider, such as an ignored setting. */
  readonly warnings?: readonly Json[]
  /** Metadata of the provider. */
  readonly providerMetadata?: JsonObject
  /** Values of the provider that have no field of their own, such as its own finish reason. */
  readonly raw?: JsonObject
}

export interface ReasonSettings {
  readonly agent: Agent
  /** Name of the hook. Undefined for an agent node. */
  readonly hook?: string
  readonly messages: readonly Message[]
  /** The output of the answer, if it is a document. */
  readonly output?: OutputSettings
  readonly responseFormat?: LanguageModelV4CallOptions['responseFormat']
  /** Whether readers see its text and calls. */
  readonly isShown: boolean
  /** Whether readers see its reasoning and its text. @default true */
  readonly isReasoningShown?: boolean
  readonly isTextShown?: boolean
  /** Whether readers see text next to calls if the answer is a document. */
  readonly isSideTextShown?: boolean
  /** Number of the pass, starting at 1. */
  readonly pass: number
  readonly abortSignal?: AbortSignal | undefined
}

/** The result of a model's execution, with the entries for its commit. */
export interface ReasonOutcome {
  readonly steps: readonly ReasonStep[]
  readonly calls: readonly ToolPart[]
  readonly text: string
  readonly output: Json | undefined
  readonly finishReason: FinishReason
  readonly entries: readonly BatchItem[]
}

/** Prefix of the ids of the parts of a pass. */
export const prefixOf = ({ hookId }: Pick<HookCall, 'hookId'>, pass: number): string => `${hookId}:${pass}:`

/** Runs a model from its current position until it is done. */
export async function reason(call: HookCall, settings: ReasonSettings): Promise<ReasonOutcome> {
  const { execution, lane, hookId } = call
  const { work: workflowExecution } = execution
  const { session, writer } = workflowExecution
  const { agent, isShown, isReasoningShown = true, isTextShown = true, pass, abortSignal } = settings
  const prefix = prefixOf(call, pass)
  const hooks = execution.replay.resultsUnder(`${hookId}/${pass}.`)
  const steps = hooks.map(({ value }) => value as unknown as ReasonStep)
  let last: CompletedModelCall | undefined
  let uncommittedRecord: HookRecord | undefined
  const isTextHidden = settings.output ? !settings.isSideTextShown : !isTextShown
  const message = hookMessage(call, {
    prefix,
    toolCallIds: () => steps.flatMap(({ toolCallIds }) => toolCallIds),
    isShown,
    isAllShown: isShown && isReasoningShown && !isTextHidden,
  })
  const historyOfHook = async (): Promise<Message[]> => {
    const currentMessage = message()
    return currentMessage && currentMessage.parts.length > 0 ? [await session.withLargeValues(currentMessage)] : []
  }
  const work: AgentExecution = {
    ...workflowExecution,
    telemetry: call.telemetry,
    program: settings.hook === undefined ? agent : { ...agent, kind: 'hook', name: settings.hook },
    parent: workflowExecution,
    agent,
    signal: abortSignal
      ? AbortSignal.any([call.signal, workflowExecution.signal, abortSignal])
      : AbortSignal.any([call.signal, workflowExecution.signal]),
    checkpointId: undefined,
    prefix,
    ...(settings.responseFormat && { responseFormat: settings.responseFormat }),
    lane: (_step, model) =>
      writer.lane({ ...lane.origin, ...(model !== undefined && { model }) }, { isInternal: !isShown }),
    history: async () => [...settings.messages, ...(await historyOfHook())],
    message,
    output: step => settings.output && new OutputStream({ ...settings.output, sideTextId: `${prefix}${step}.aside` }),
    // Hidden parts are still sent to the model.
    isHidden: ({ type }) =>
      (!isReasoningShown && type.startsWith('reasoning-')) || (isTextHidden && type.startsWith('text-')),
    onModelCall(modelCall) {
      last = modelCall
      execution.usage.add(hookId, modelCall.response.usage)
      const step = stepOf(modelCall)
      if (modelCall.calls === 0) return []
      steps.push(step)
      const record = {
        hookId: `${hookId}/${pass}.${steps.length}`,
        hook: 'useReason',
        result: { value: step as unknown as Json },
      }
      uncommittedRecord = record
      return [hookRecordEntry(record, lane)]
    },
    onCommitted() {
      execution.usage.markCommitted(hookId)
      if (uncommittedRecord) execution.replay.add(uncommittedRecord)
    },
  }
  await call.commitPending()
  for (;;) {
    const ended = await call.trackWrite(withoutHooks(() => runAgent(work)))
    if (ended.outcome === 'handed-over') return call.handOver()
    if (ended.outcome === 'waiting') {
      await call.park(ended.on, ended.until)
      continue
    }
    if (last && last.calls === 0) steps.push(stepOf(last))
    const calls = ((await historyOfHook())[0]?.parts ?? []).filter((part): part is ToolPart => 'toolCallId' in part)
    const { finalItems, text, output, finishReason } = ended
    if (isShown && isTextShown && settings.output === undefined) execution.addText(text)
    return { steps, calls, text, output, finishReason, entries: finalItems.map(toHookLane) }
  }

  /** Moves an item of a hidden answer to the internal lane. */
  function toHookLane(item: BatchItem): BatchItem {
    return isShown ? item : { ...item, lane: work.lane(0) }
  }
}

function stepOf({ text, finishReason, callIds, response }: CompletedModelCall): ReasonStep {
  const { usage, warnings, providerMetadata, raw, discarded } = response
  return {
    text,
    toolCallIds: callIds,
    finishReason,
    ...((usage || discarded.length > 0) && { usage: totalOf([...discarded, usage]) }),
    ...(warnings.length > 0 && { warnings: warnings as unknown as Json[] }),
    ...(providerMetadata && { providerMetadata }),
    ...(Object.keys(raw).length > 0 && { raw }),
  }
}
