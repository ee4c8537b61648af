// What a model at work for a hook has said so far: its part of the workflow's message, with what readers do not see of it.

import type { Message, Part } from '@millrace/protocol'
import type { HookCall } from '../replay/execution.ts'
import { resumedParts } from '../replay/resume-point.ts'

export interface HookMessageOptions {
  /** With which the ids of its parts begin. */
  readonly prefix: string
  /** The calls that it has made so far. */
  readonly toolCallIds: () => readonly string[]
  /** Whether readers see what it says, and whether they see all of it. */
  readonly isShown: boolean
  readonly isAllShown: boolean
}

/** Tells what a model has said so far, whenever it is asked; nothing before it has. */
export function hookMessage(
  { execution }: Pick<HookCall, 'execution'>,
  { prefix, toolCallIds, isShown, isAllShown }: HookMessageOptions,
): () => Message | undefined {
  const { session, runId, agentId } = execution.work
  const earlier = agentId === runId ? resumedParts(session, runId) : []
  // What was cut off before does not come again.
  const kept = stepsOf(earlier.filter(isOf(prefix, toolCallIds())))
    .filter(isCalling)
    .flat()
  return () => {
    const hidden = isAllShown ? undefined : session.internalMessage(runId, agentId)
    const all = isShown ? session.message(runId, agentId) : hidden
    if (all === undefined && kept.length === 0) return undefined
    const unseen = all === hidden ? [] : (hidden?.parts ?? []).filter(({ type }) => HIDDEN.has(type))
    const said = all?.parts ?? []
    const parts = unseen.length === 0 ? said : [...said, ...unseen].sort((a, b) => a.at - b.at)
    return { ...EMPTY_MESSAGE, ...all, runId: '', parts: [...kept, ...parts.filter(isOf(prefix, toolCallIds()))] }
  }
}

/** What a model has said in a pass that is over, answer by answer, as a model is told of it. */
export async function hookPassSteps(
  call: Pick<HookCall, 'execution'>,
  settings: Omit<HookMessageOptions, 'isAllShown'>,
): Promise<readonly (readonly Part[])[]> {
  const { session } = call.execution.work
  await session.refresh()
  const said = hookMessage(call, { ...settings, isAllShown: false })()
  return said ? stepsOf((await session.withLargeValues(said)).parts) : []
}

/** What may be hidden of a model that is shown: thoughts, and text where the answer is something else. */
const HIDDEN: ReadonlySet<string> = new Set(['reasoning', 'text'])

/** A message in which nobody has said anything yet. */
const EMPTY_MESSAGE: Message = { id: '', role: 'assistant', status: 'sent', at: 0, createdAt: 0, parts: [] }

/** What was said, answer by answer, each with its mark. */
function stepsOf(parts: readonly Part[]): readonly (readonly Part[])[] {
  const starts = parts.flatMap(({ type }, index) => (type === 'step-start' ? [index] : []))
  return starts.map((start, nth) => parts.slice(start, starts[nth + 1]))
}

/** Whether an answer came to calls. */
const isCalling = (step: readonly Part[]): boolean => step.some(part => 'toolCallId' in part)

/** Tells whether a part of the message was written by a hook. */
function isOf(prefix: string, toolCallIds: readonly string[]): (part: Part) => boolean {
  const ids = new Set(toolCallIds)
  return part => {
    if ('toolCallId' in part) return ids.has(part.toolCallId)
    if (part.type === 'step-start') return 'stepId' in part && part.stepId?.startsWith(prefix) === true
    return 'id' in part && part.id?.startsWith(prefix) === true
  }
}
