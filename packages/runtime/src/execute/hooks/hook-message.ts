// The message so far of a model that runs for a hook: its parts of the workflow's message, including internal ones.

import type { Message, Part } from '@millrace/protocol'
import type { HookCall } from '../replay/execution.ts'
import { resumedParts } from '../replay/resume-point.ts'

export interface HookMessageOptions {
  /** Prefix of the ids of its parts. */
  readonly prefix: string
  /** The ids of its calls so far. */
  readonly toolCallIds: () => readonly string[]
  /** Whether readers see its parts, and whether they see all of them. */
  readonly isShown: boolean
  readonly isAllShown: boolean
}

/** Returns a function that returns the message so far; undefined before the first part. */
export function hookMessage(
  { execution }: Pick<HookCall, 'execution'>,
  { prefix, toolCallIds, isShown, isAllShown }: HookMessageOptions,
): () => Message | undefined {
  const { session, runId, agentId } = execution.work
  const earlier = agentId === runId ? resumedParts(session, runId) : []
  // Interrupted answers without calls are not repeated.
  const earlierParts = stepsOf(earlier.filter(isOwnPart(prefix, toolCallIds())))
    .filter(hasCalls)
    .flat()
  return () => {
    const hidden = isAllShown ? undefined : session.internalMessage(runId, agentId)
    const all = isShown ? session.message(runId, agentId) : hidden
    if (all === undefined && earlierParts.length === 0) return undefined
    const hiddenParts = all === hidden ? [] : (hidden?.parts ?? []).filter(({ type }) => HIDDEN.has(type))
    const publicParts = all?.parts ?? []
    const parts = hiddenParts.length === 0 ? publicParts : [...publicParts, ...hiddenParts].sort((a, b) => a.at - b.at)
    return {
      ...EMPTY_MESSAGE,
      ...all,
      runId: '',
      parts: [...earlierParts, ...parts.filter(isOwnPart(prefix, toolCallIds()))],
    }
  }
}

/** The steps of a completed pass, as they are sent to a model. */
export async function hookPassSteps(
  call: Pick<HookCall, 'execution'>,
  settings: Omit<HookMessageOptions, 'isAllShown'>,
): Promise<readonly (readonly Part[])[]> {
  const session = await call.execution.work.session.current()
  const publicMessage = hookMessage(call, { ...settings, isAllShown: false })()
  return publicMessage ? stepsOf((await session.withLargeValues(publicMessage)).parts) : []
}

/** Parts that may be internal in a public message: reasoning, and text if the answer is structured. */
const HIDDEN: ReadonlySet<string> = new Set(['reasoning', 'text'])

/** A message without parts. */
const EMPTY_MESSAGE: Message = { id: '', role: 'assistant', status: 'sent', at: 0, createdAt: 0, parts: [] }

/** The parts by step, each with its step-start. */
function stepsOf(parts: readonly Part[]): readonly (readonly Part[])[] {
  const starts = parts.flatMap(({ type }, index) => (type === 'step-start' ? [index] : []))
  return starts.map((start, nth) => parts.slice(start, starts[nth + 1]))
}

/** Whether a step has tool calls. */
const hasCalls = (step: readonly Part[]): boolean => step.some(part => 'toolCallId' in part)

/** Returns a predicate for the parts that a hook wrote. */
function isOwnPart(prefix: string, toolCallIds: readonly string[]): (part: Part) => boolean {
  const ids = new Set(toolCallIds)
  return part => {
    if ('toolCallId' in part) return ids.has(part.toolCallId)
    if (part.type === 'step-start') return 'stepId' in part && part.stepId?.startsWith(prefix) === true
    return 'id' in part && part.id?.startsWith(prefix) === true
  }
}
