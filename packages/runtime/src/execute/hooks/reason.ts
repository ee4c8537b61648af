// A model at work for a hook: it works as an agent does, with tools and approvals, on the hook's own lane and in the message of the workflow.

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

/** One model call of a hook, as the log keeps it. */
export interface ReasonStep {
  readonly text: string
  readonly toolCallIds: readonly string[]
  readonly finishReason: FinishReason
  /** With that of attempts that were taken back. */
  readonly usage?: Usage
  readonly warnings?: readonly Json[]
  readonly providerMetadata?: JsonObject
  readonly raw?: JsonObject
}

export interface ReasonSettings {
  readonly agent: Agent
  /** What the hook is called, where that is no agent of somebody's. */
  readonly hook?: string
  readonly messages: readonly Message[]
  /** What the answer is a document of, if it is one. */
  readonly output?: OutputSettings
  readonly responseFormat?: LanguageModelV4CallOptions['responseFormat']
  /** Whether readers see what it says and calls. */
  readonly isShown: boolean
  /** Whether they see what it thinks, and what it says as text; they do, if nothing is said. */
  readonly areThoughtsShown?: boolean
  readonly isTextShown?: boolean
  /** Whether they see text beside calls where the answer is a document. */
  readonly areAsidesShown?: boolean
  /** Which of several rounds of the hook this is. */
  readonly pass: number
  readonly abortSignal?: AbortSignal | undefined
}

/** What came of a model's work, and what its commit is to say. */
export interface Reasoned {
  readonly steps: readonly ReasonStep[]
  readonly calls: readonly ToolPart[]
  readonly text: string
  readonly output: Json | undefined
  readonly finishReason: FinishReason
  readonly said: readonly BatchItem[]
}

/** With which the ids of the parts of a pass begin. */
export const prefixOf = ({ hookId }: Pick<HookCall, 'hookId'>, pass: number): string => `${hookId}:${pass}:`

/** Lets a model work until it is done, from wherever it stands. */
export async function reason(call: HookCall, settings: ReasonSettings): Promise<Reasoned> {
  const { execution, lane, hookId } = call
  const { work: flow } = execution
  const { session, writer } = flow
  const { agent, isShown, areThoughtsShown = true, isTextShown = true, pass, abortSignal } = settings
  const prefix = prefixOf(call, pass)
  const hooks = execution.replay.resultsUnder(`${hookId}/${pass}.`)
  const steps = hooks.map(({ value }) => value as unknown as ReasonStep)
  let last: CompletedModelCall | undefined
  let uncommittedRecord: HookRecord | undefined
  const isTextHidden = settings.output ? !settings.areAsidesShown : !isTextShown
  const message = hookMessage(call, {
    prefix,
    toolCallIds: () => steps.flatMap(({ toolCallIds }) => toolCallIds),
    isShown,
    isAllShown: isShown && areThoughtsShown && !isTextHidden,
  })
  const whole = async (): Promise<Message[]> => {
    const own = message()
    return own && own.parts.length > 0 ? [await session.withLargeValues(own)] : []
  }
  const work: AgentExecution = {
    ...flow,
    telemetry: call.telemetry,
    program: settings.hook === undefined ? agent : { ...agent, kind: 'hook', name: settings.hook },
    parent: flow,
    agent,
    signal: abortSignal
      ? AbortSignal.any([call.signal, flow.signal, abortSignal])
      : AbortSignal.any([call.signal, flow.signal]),
    checkpointId: undefined,
    prefix,
    ...(settings.responseFormat && { responseFormat: settings.responseFormat }),
    lane: (_step, model) =>
      writer.lane({ ...lane.origin, ...(model !== undefined && { model }) }, { isInternal: !isShown }),
    history: async () => [...settings.messages, ...(await whole())],
    message,
    output: step => settings.output && new OutputStream({ ...settings.output, sideTextId: `${prefix}${step}.aside` }),
    // The model is told of it all the same.
    isHidden: ({ type }) =>
      (!areThoughtsShown && type.startsWith('reasoning-')) || (isTextHidden && type.startsWith('text-')),
    onModelCall(spoken) {
      last = spoken
      execution.usage.add(hookId, spoken.response.usage)
      const step = stepOf(spoken)
      if (spoken.calls === 0) return []
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
  await session.refresh()
  for (;;) {
    const ended = await call.trackWrite(withoutHooks(() => runAgent(work)))
    if (ended.outcome === 'handed-over') return call.handOver()
    if (ended.outcome === 'waiting') {
      await call.park(ended.on, ended.until)
      continue
    }
    if (last && last.calls === 0) steps.push(stepOf(last))
    const calls = ((await whole())[0]?.parts ?? []).filter((part): part is ToolPart => 'toolCallId' in part)
    const { facts: said, text, output, finishReason } = ended
    if (isShown && isTextShown && settings.output === undefined) execution.addText(text)
    return { steps, calls, text, output, finishReason, said: said.map(hidden) }
  }

  function hidden(one: BatchItem): BatchItem {
    return isShown ? one : { ...one, lane: work.lane(0) }
  }
}

function stepOf({ text, finishReason, callIds, response: about }: CompletedModelCall): ReasonStep {
  const { usage, warnings, providerMetadata, raw, discarded } = about
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
