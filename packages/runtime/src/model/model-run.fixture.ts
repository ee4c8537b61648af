import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { memoryStore, type StreamManagerOptions, type Timers } from '@millrace/log'
import type { Chunk, Entry, View } from '@millrace/protocol'
import type { Backoff } from '@millrace/protocol/retry'
import type { RunResult } from '../api/result.ts'
import type { Run } from '../api/run.ts'
import { createRuntime, type Runtime } from '../api/runtime.ts'
import { type AgentDefinition, agent } from '../define/agent.ts'
import type { AnyTool } from '../define/tool.ts'
import type { Schema } from '../schema/schema.ts'

/** One call of the logger. */
export interface Logged {
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Options of the agent under test, without its name and model. */
export type TestAgentOptions = Partial<
  Omit<AgentDefinition<string, readonly AnyTool[], Schema | undefined, Schema | undefined>, 'model' | 'name'>
>

export interface AgentHarnessOptions {
  readonly log?: Omit<StreamManagerOptions, 'store' | 'timers'>
  readonly timers?: Timers
  readonly backoff?: Partial<Backoff>
}

/** A runtime with one agent and a memory store, with short delays between attempts. */
export class AgentHarness {
  readonly runtime: Runtime
  readonly logged: Logged[] = []
  readonly #agent

  constructor(
    model: AgentDefinition<string, [], undefined, undefined>['model'],
    agentOptions: TestAgentOptions = {},
    { log = {}, timers, backoff = { firstMs: 1 } }: AgentHarnessOptions = {},
  ) {
    this.#agent = agent({ name: 'helper', model, ...agentOptions } as AgentDefinition<
      string,
      readonly AnyTool[],
      undefined,
      undefined
    >)
    const record = (message: string, fields: Logged['fields']) => void this.logged.push({ message, fields })
    this.runtime = createRuntime({
      store: memoryStore(),
      agents: [this.#agent],
      backoff,
      engine: { pollMs: 20 },
      logger: { warn: record, error: record },
      log,
      ...(timers && { timers }),
    })
  }

  start(input = 'Hello?', session = 's'): Promise<Run> {
    return this.runtime.start({ agent: this.#agent, input, session })
  }

  /** Runs to the end and returns the result with its log. */
  async run(input?: string): Promise<Outcome> {
    const run = await this.start(input)
    const result = await run.result()
    const { view } = await this.runtime.view('s')
    return { result, view, entries: await this.entries(run.runId), harness: this }
  }

  /** All entries of the log, or those of one run. */
  async entries(runId?: string): Promise<Entry[]> {
    const { head } = (await this.runtime.manager.getInfo('s')) ?? { head: 0 }
    const entries = await this.runtime.manager.entries('s', 0, head)
    return entries.filter(({ origin }) => runId === undefined || origin.runId === runId)
  }

  close(): Promise<void> {
    return this.runtime.close()
  }
}

/** A finished run with its log. */
export interface Outcome {
  readonly result: RunResult
  readonly view: Omit<View, 'internal'>
  readonly entries: readonly Entry[]
  readonly harness: AgentHarness
}

/** The chunks of a type among entries. */
export const chunksOf = <Type extends Chunk['type']>(entries: readonly Entry[], type: Type) =>
  entries.map(({ chunk }) => chunk).filter((chunk): chunk is Extract<Chunk, { type: Type }> => chunk.type === type)

/** A model that answers each call with the next list of parts, and records the options of its calls. */
export function partsModel(
  ...answers: readonly (readonly LanguageModelV4StreamPart[])[]
): LanguageModelV4 & { readonly calls: LanguageModelV4CallOptions[] } {
  const calls: LanguageModelV4CallOptions[] = []
  return {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'parts',
    supportedUrls: {},
    calls,
    async doGenerate() {
      throw new Error('not used')
    },
    async doStream(options) {
      const parts = answers[calls.push(options) - 1] ?? []
      return { stream: streamOf(parts) }
    },
  }
}

/** A stream of these parts. */
export const streamOf = <T>(parts: readonly T[]): ReadableStream<T> =>
  new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })

/** The finish part of an answer, with its input and output tokens. */
export const finish = (
  unified: Extract<LanguageModelV4StreamPart, { type: 'finish' }>['finishReason']['unified'] = 'stop',
  [input, output]: readonly [(number | undefined)?, number?] = [],
): LanguageModelV4StreamPart => ({
  type: 'finish',
  finishReason: { unified, raw: undefined },
  usage: {
    inputTokens: { total: input, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning: undefined },
  },
})

/** The parts of a complete text. */
export const textParts = (text: string, id = '0'): LanguageModelV4StreamPart[] => [
  { type: 'text-start', id },
  { type: 'text-delta', id, delta: text },
  { type: 'text-end', id },
]
