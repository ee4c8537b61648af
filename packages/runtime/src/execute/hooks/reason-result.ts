// The result of `useReason` over all its passes.

import type { SharedV4Warning } from '@ai-sdk/provider'
import type { JsonObject, ToolPart, Usage } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { MillraceError } from '../../error/error.ts'
import type { ReasonOutcome } from './reason.ts'
import type { ReasonResult, ToolCallResult } from './reason-options.ts'
import type { ReasonPlan } from './reason-plan.ts'

/** The result of one pass. */
export type Pass = Pick<ReasonOutcome, 'steps' | 'calls' | 'text' | 'output' | 'finishReason'>

/** Combines the passes: the last one gives the answer, usage and warnings come from all. */
export function resultOf(plan: ReasonPlan, passes: readonly Pass[]): ReasonResult {
  const last = passes.at(-1) as Pass
  const steps = passes.flatMap(pass => pass.steps)
  const calls = passes.flatMap(pass => pass.calls)
  if (plan.output && last.output === undefined) {
    throw new MillraceError('output_invalid', 'the model ended without an output')
  }
  const stepWarnings = steps.flatMap(({ warnings = [] }) => warnings as unknown as SharedV4Warning[])
  return {
    text: last.text,
    output: last.output,
    raw: Object.assign({}, ...steps.map(({ raw }) => raw)) as JsonObject,
    usage: totalOf(steps.map(({ usage }) => usage)),
    finishReason: last.finishReason,
    providerMetadata: mergeMetadata(steps.map(({ providerMetadata }) => providerMetadata)),
    warnings: distinct([...plan.warnings, ...stepWarnings]),
    interruptResponse: undefined,
    toolCalls: calls.map(callOf),
    toolResults: calls.map(outcomeOf),
    steps,
  }
}

/** Sums usage by field. */
export function totalOf(usages: readonly (Usage | undefined)[]): Usage {
  const total: { [name: string]: number } = {}
  for (const usage of usages) {
    for (const [name, count] of Object.entries(usage ?? {})) total[name] = (total[name] ?? 0) + count
  }
  return total as Usage
}

/** Merges metadata by provider. Later values win. */
function mergeMetadata(metadata: readonly (JsonObject | undefined)[]): JsonObject {
  const merged: JsonObject = {}
  for (const [provider, value] of metadata.flatMap(stepMetadata => Object.entries(stepMetadata ?? {}))) {
    const previous = merged[provider]
    merged[provider] = isObject(previous) && isObject(value) ? { ...previous, ...value } : value
  }
  return merged
}

function distinct(warnings: readonly SharedV4Warning[]): readonly SharedV4Warning[] {
  return [...new Map(warnings.map(warning => [JSON.stringify(warning), warning])).values()]
}

const callOf = ({ toolCallId, toolName, input }: ToolPart): ReasonResult['toolCalls'][number] => ({
  toolCallId,
  toolName,
  ...(input !== undefined && { input }),
})

function outcomeOf(call: ToolPart): ToolCallResult {
  const { state, output, errorText, approval } = call
  return {
    ...callOf(call),
    ...(state === 'output-available' && { output: output ?? null }),
    ...(state === 'output-error' && { error: errorText ?? '' }),
    ...(state === 'output-denied' && { isDenied: true, error: approval?.reason ?? 'the call was denied' }),
  }
}
