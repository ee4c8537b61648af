// A model at work for a hook: it works as an agent does, with tools and approvals, on the hook's own lane and in the message of the workflow.

import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { Said } from '@millrace/log'
import type { FinishReason, Json, JsonObject, Message, Part, ToolPart, Usage } from '@millrace/protocol'
import type { Agent } from '../agent/agent.ts'
import { workOn } from '../agent/loop.ts'
import { type OutputSettings, OutputStream, unshown } from '../agent/output.ts'
import type { Spoken } from '../agent/step.ts'
import type { Work } from '../agent/work.ts'
import type { Call } from '../workflow/call.ts'
import { withoutHooks } from '../workflow/execution.ts'
import { partsBefore } from '../workflow/inheritance.ts'
import { type HookRecord, recordOf } from '../workflow/record.ts'
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
  readonly said: readonly Said[]
}

/** Lets a model work until it is done, from wherever it stands. */
export async function reason(call: Call, settings: ReasonSettings): Promise<Reasoned> {
  const { execution, lane, hookId } = call
  const { work: flow } = execution
  const { session, writer, runId, agentId } = flow
  const { agent, isShown, areThoughtsShown = true, isTextShown = true, pass, abortSignal } = settings
  const prefix = `${hookId}:${pass}:`
  const hooks = execution.replay.partsOf(`${hookId}/${pass}.`)
  const steps = hooks.map(({ value }) => value as unknown as ReasonStep)
  let last: Spoken | undefined
  let unkept: HookRecord | undefined
  const earlier = agentId === runId ? committedOf(partsBefore(session, runId), prefix, steps) : []
  const message = (): Message | undefined => {
    const hidden = isShown && areThoughtsShown ? undefined : session.internalMessage(runId, agentId)
    const all = isShown ? session.message(runId, agentId) : hidden
    if (all === undefined && earlier.length === 0) return undefined
    const ids = new Set(steps.flatMap(({ toolCallIds }) => toolCallIds))
    const thoughts = all === hidden ? [] : (hidden?.parts.filter(({ type }) => type === 'reasoning') ?? [])
    const said = all?.parts ?? []
    const parts = thoughts.length === 0 ? said : [...said, ...thoughts].sort((a, b) => a.at - b.at)
    return { ...NOBODY, ...all, runId: '', parts: [...earlier, ...parts.filter(part => isOf(part, prefix, ids))] }
  }
  const whole = async (): Promise<Message[]> => {
    const own = message()
    return own && own.parts.length > 0 ? [await session.whole(own)] : []
  }
  const work: Work = {
    ...flow,
    telemetry: call.telemetry,
    program: agent,
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
    output: step => {
      if (settings.output === undefined) return isTextShown ? undefined : unshown
      const aside = settings.areAsidesShown && { asideId: `${prefix}${step}.aside` }
      return new OutputStream({ ...settings.output, ...aside })
    },
    isHidden: ({ type }) => !areThoughtsShown && type.startsWith('reasoning-'),
    heard(spoken) {
      last = spoken
      const step = stepOf(spoken)
      if (spoken.calls === 0) return []
      steps.push(step)
      const record = {
        hookId: `${hookId}/${pass}.${steps.length}`,
        hook: 'useReason',
        given: { value: step as unknown as Json },
      }
      unkept = record
      return [recordOf(record, lane)]
    },
    kept() {
      if (unkept) execution.replay.note(unkept)
    },
  }
  await call.keep()
  await session.sync(writer.cursor.sequence)
  for (;;) {
    const ended = await call.write(withoutHooks(() => workOn(work)))
    if (ended.outcome === 'left') return call.leave()
    if (ended.outcome === 'waiting') {
      await call.park(ended.on, ended.until)
      continue
    }
    if (last && last.calls === 0) steps.push(stepOf(last))
    const calls = ((await whole())[0]?.parts ?? []).filter((part): part is ToolPart => 'toolCallId' in part)
    const { facts: said, text, output, finishReason } = ended
    if (isShown && isTextShown && settings.output === undefined) execution.noteText(text)
    return { steps, calls, text, output, finishReason, said: said.map(hidden) }
  }

  function hidden(one: Said): Said {
    return isShown ? one : { ...one, lane: work.lane(0) }
  }
}

function stepOf({ text, finishReason, callIds, about }: Spoken): ReasonStep {
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

/** A message in which nobody has said anything yet. */
const NOBODY: Message = { id: '', role: 'assistant', status: 'sent', at: 0, createdAt: 0, parts: [] }

/** What a hook has said in the runs from which this one goes on: the steps that came to calls, and not what was cut off. */
function committedOf(said: readonly Part[], prefix: string, steps: readonly ReasonStep[]): readonly Part[] {
  const ids = new Set(steps.flatMap(({ toolCallIds }) => toolCallIds))
  const parts = said.filter(part => isOf(part, prefix, ids))
  const starts = parts.flatMap(({ type }, index) => (type === 'step-start' ? [index] : []))
  const byStep = starts.map((start, nth) => parts.slice(start, starts[nth + 1]))
  return byStep.filter(step => step.some(part => 'toolCallId' in part)).flat()
}

/** Whether a part of the message was written by a hook. */
function isOf(part: Part, prefix: string, toolCallIds: ReadonlySet<string>): boolean {
  if ('toolCallId' in part) return toolCallIds.has(part.toolCallId)
  if (part.type === 'step-start') return 'stepId' in part && part.stepId?.startsWith(prefix) === true
  return 'id' in part && part.id?.startsWith(prefix) === true
}
