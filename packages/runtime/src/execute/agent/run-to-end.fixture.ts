// Runs an agent from start to end and returns everything about the run.

import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { type Chunk, type Entry, Fold, type Json, type Message, type ToolPart, type View } from '@millrace/protocol'
import { expect } from 'vitest'
import type { RunResult } from '../../api/result.ts'
import type { Runtime, StartOptions } from '../../api/runtime.ts'
import type { RuntimeOptions } from '../../api/runtime-options.ts'
import { logOf, testRuntime } from '../../api/test-runtime.fixture.ts'
import { type Agent, agent, type OutputOfAgent } from '../../define/agent.ts'
import type { AnyTool } from '../../define/tool.ts'
import {
  type ScriptedAnswer,
  type ScriptedOptions,
  type ScriptedPrompt,
  scriptedModel,
} from '../../model/scripted-model.ts'
import type { Logger } from '../../telemetry/logger.ts'

export interface LoggedMessage {
  readonly level: 'warn' | 'error'
  readonly message: string
  readonly cause: unknown
}

export interface EndedRun<Output = unknown> {
  readonly runtime: Runtime
  readonly result: RunResult<Output>
  readonly view: Omit<View, 'internal'>
  readonly log: readonly Entry[]
  /** Messages that were logged. */
  readonly logged: readonly LoggedMessage[]
}

/** A logger that records its messages. */
export function recordingLogger(): { logger: Logger; logged: LoggedMessage[] } {
  const logged: LoggedMessage[] = []
  const record = (level: LoggedMessage['level']) => (message: string, fields: Readonly<Record<string, unknown>>) => {
    logged.push({ level, message, cause: fields['cause'] })
  }
  return { logged, logger: { warn: record('warn'), error: record('error') } }
}

/** Runs an agent to its end. Fails if its log violates the protocol. */
export async function runToEnd<A extends Agent>(
  agent: A,
  options: Partial<RuntimeOptions> = {},
  start: Partial<StartOptions> = {},
): Promise<EndedRun<OutputOfAgent<A>>> {
  const { logger, logged } = recordingLogger()
  const runtime = testRuntime({ agents: [agent], logger, ...options })
  const run = await runtime.start({ session: 's', input: 'Go.', ...start, agent })
  const result = await run.result()
  const log = await logOf(runtime, run.sessionId)
  expect(reportsOf(log)).toEqual([])
  const { view } = await runtime.view(run.sessionId)
  return { runtime, result, view, log, logged }
}

/** The protocol violations in a log. */
export function reportsOf(log: readonly Entry[]): string[] {
  const reports: string[] = []
  new Fold({ onReport: ({ code, entry }) => reports.push(`${entry.sequence} ${entry.chunk.type}: ${code}`) }).apply(log)
  return reports
}

/** The chunks of a type, in order. */
export const chunksOf = <T extends Chunk['type']>(log: readonly Entry[], type: T): Extract<Chunk, { type: T }>[] =>
  log.flatMap(({ chunk }) => (chunk.type === type ? [chunk as Extract<Chunk, { type: T }>] : []))

/** The calls of a message, in order. */
export const callsOf = (message: Message | undefined): ToolPart[] =>
  (message?.parts ?? []).filter((part): part is ToolPart => 'toolCallId' in part)

/** The chunks of the commit, or of the end of a run, that contains an entry. */
export function commitOf(log: readonly Entry[], is: (chunk: Chunk) => boolean): Chunk[] {
  const at = log.findIndex(({ chunk }) => is(chunk))
  const isEnd = ({ chunk }: Entry) => chunk.type === 'checkpoint-created' || chunk.type === 'run-finished'
  const to = log.findIndex((entry, i) => i >= at && isEnd(entry))
  const from = log.findLastIndex((entry, i) => i < at && isEnd(entry))
  return log.slice(from + 1, to + 1).map(({ chunk }) => chunk)
}

/** A scripted model that records its calls. */
export function recordingModel(
  answers: readonly ScriptedAnswer[] | ((prompt: ScriptedPrompt) => ScriptedAnswer),
  options: ScriptedOptions = {},
) {
  const modelCalls: LanguageModelV4CallOptions[] = []
  const model = scriptedModel(prompt => {
    modelCalls.push(prompt.options)
    return typeof answers === 'function' ? answers(prompt) : (answers[prompt.turnAnswers] as ScriptedAnswer)
  }, options)
  return { model, modelCalls }
}

/** The results of calls that the model got, by call id. */
export function resultsIn({ prompt }: LanguageModelV4CallOptions): Record<string, unknown> {
  const results: Record<string, unknown> = {}
  for (const message of prompt) {
    if (message.role !== 'tool') continue
    for (const part of message.content) if (part.type === 'tool-result') results[part.toolCallId] = part.output
  }
  return results
}

/** An agent that makes these calls at once and then ends. */
export function caller(
  tools: readonly AnyTool[],
  calls: readonly { name: string; input?: Json; id?: string }[],
  more = {},
) {
  const { model, modelCalls } = recordingModel([
    { calls: calls.map(({ name, input = {}, id }) => ({ name, input, ...(id !== undefined && { id }) })) },
    { text: 'Done.' },
  ])
  return { modelCalls, agent: agent({ name: 'caller', model, tools, ...more }) }
}
