// What a call of a model in a node gives, over all its passes.

import type { SharedV4Warning } from '@ai-sdk/provider'
import type { JsonObject, ToolPart, Usage } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { MillraceError } from '../../error/error.ts'
import type { Reasoned } from './reason.ts'
import type { ReasonResult, ToolCallResult } from './reason-options.ts'
import type { Plan } from './reason-plan.ts'

/** What came of a pass. */
export type Pass = Pick<Reasoned, 'steps' | 'calls' | 'text' | 'output' | 'finishReason'>

/** What a call gives: what its last pass gave, and what all of them used and were told. */
export function resultOf(plan: Plan, passes: readonly Pass[]): ReasonResult {
  const last = passes.at(-1) as Pass
  const steps = passes.flatMap(pass => pass.steps)
  const calls = passes.flatMap(pass => pass.calls)
  if (plan.output && last.output === undefined) {
    throw new MillraceError('output_invalid', 'the model ended without the object that it was asked for')
  }
  const warned = steps.flatMap(({ warnings = [] }) => warnings as unknown as SharedV4Warning[])
  return {
    text: last.text,
    output: last.output,
    raw: Object.assign({}, ...steps.map(({ raw }) => raw)) as JsonObject,
    usage: totalOf(steps.map(({ usage }) => usage)),
    finishReason: last.finishReason,
    providerMetadata: merged(steps.map(({ providerMetadata }) => providerMetadata)),
    warnings: distinct([...plan.warnings, ...warned]),
    interruptResponse: undefined,
    toolCalls: calls.map(madeOf),
    toolResults: calls.map(outcomeOf),
    steps,
  }
}

/** What was used, kind by kind. */
export function totalOf(usages: readonly (Usage | undefined)[]): Usage {
  const total: { [name: string]: number } = {}
  for (const usage of usages) {
    for (const [name, count] of Object.entries(usage ?? {})) total[name] = (total[name] ?? 0) + count
  }
  return total as Usage
}

/** What each provider said, the later over the earlier. */
function merged(all: readonly (JsonObject | undefined)[]): JsonObject {
  const metadata: JsonObject = {}
  for (const [provider, said] of all.flatMap(one => Object.entries(one ?? {}))) {
    const before = metadata[provider]
    metadata[provider] = isObject(before) && isObject(said) ? { ...before, ...said } : said
  }
  return metadata
}

function distinct(warnings: readonly SharedV4Warning[]): readonly SharedV4Warning[] {
  return [...new Map(warnings.map(warning => [JSON.stringify(warning), warning])).values()]
}

const madeOf = ({ toolCallId, toolName, input }: ToolPart): ReasonResult['toolCalls'][number] => ({
  toolCallId,
  toolName,
  ...(input !== undefined && { input }),
})

function outcomeOf(call: ToolPart): ToolCallResult {
  const { state, output, errorText, approval } = call
  return {
    ...madeOf(call),
    ...(state === 'output-available' && { output: output ?? null }),
    ...(state === 'output-error' && { error: errorText ?? '' }),
    ...(state === 'output-denied' && { isDenied: true, error: approval?.reason ?? 'the call was denied' }),
  }
}
