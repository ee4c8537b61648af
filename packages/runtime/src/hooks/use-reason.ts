// The model call of a node: it streams, uses tools, gives an object that fits, and may ask a person before it goes on.

import type { LanguageModelV4, LanguageModelV4CallOptions, SharedV4Warning } from '@ai-sdk/provider'
import type { Fields, FinishReason, Json, JsonObject, Message, ToolPart, Usage } from '@millrace/protocol'
import { type Agent, MAX_RETRIES, PARALLEL_CALLS } from '../agent/agent.ts'
import type { Identity, OutputSettings } from '../agent/output.ts'
import { MillraceError, ValidationError } from '../error/error.ts'
import { generated } from '../model/generation.ts'
import { asV4, type Model, type ModelSettings } from '../model/model.ts'
import { type Reasoning, reasoningOf } from '../model/reasoning.ts'
import { foundOf } from '../options.ts'
import type { Jsonified } from '../schema/json.ts'
import { type JsonSchema, jsonSchemaOf, type OutputOf, type Schema } from '../schema/schema.ts'
import type { AnyTool } from '../tool/tool.ts'
import { type Call, executionOf } from '../workflow/execution.ts'
import { recordOf } from '../workflow/record.ts'
import { messagesOf, type ReasonInput } from './input.ts'
import { continued, envelopeOf, type FirstPass, isAsking, type ReasonInterrupt } from './interrupt-pass.ts'
import { type Reasoned, type ReasonStep, reason } from './reason.ts'
import { ask } from './use-interrupt.ts'

export interface StructuredOptions {
  /** Whether declared fields are shown while they stream; they are, if nothing is said. */
  readonly stream?: boolean
  readonly dataType?: string
  readonly schemaId?: string
  readonly schemaVersion?: string
  /** The fields that are shown before the whole is there, by dotted path, and how each arrives. */
  readonly fields?: Fields
}

export interface ToolExecution {
  /** How many model calls there may be. */
  readonly maxSteps?: number
  /** Which calls a person has to approve, over what the tools say themselves. */
  readonly approval?: boolean | { readonly [toolName: string]: boolean }
  /** How many calls of a step run at a time. */
  readonly parallelCalls?: number
}

export interface ReasonOptions<
  O extends Schema | undefined = undefined,
  R extends Schema | undefined = undefined,
  Tools extends readonly AnyTool[] = readonly AnyTool[],
> extends Pick<ModelSettings, 'temperature' | 'maxOutputTokens' | 'stopSequences' | 'providerOptions'> {
  readonly model: Model
  readonly input: ReasonInput
  readonly system?: string
  /** Cuts the call off; the hook throws the signal's reason. */
  readonly abortSignal?: AbortSignal
  readonly reasoning?: Reasoning
  readonly responseFormat?: LanguageModelV4CallOptions['responseFormat']
  /** Whether readers see what the model says; they do, if nothing is said. */
  readonly emit?: boolean
  /** Whether the model is asked to stream; it is, if nothing is said. */
  readonly stream?: boolean
  readonly id?: string
  /** What the answer must be; then it is an object, and no text is shown. */
  readonly outputSchema?: O
  /** The JSON Schema of the output, where `outputSchema` cannot say it by itself. */
  readonly jsonSchema?: JsonSchema
  readonly structured?: StructuredOptions
  readonly interrupt?: ReasonInterrupt<R>
  readonly tools?: Tools
  readonly toolExecution?: ToolExecution
  /** How often a call that failed, or gave what does not fit, is tried again. */
  readonly maxRetries?: number
}

export interface ToolCallResult {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: Json | undefined
  readonly output?: Json
  readonly error?: string
  readonly isDenied?: true
}

export interface ReasonResult<Output = unknown, Response = unknown> {
  /** What the model said last. */
  readonly text: string
  readonly output: Output
  /** What the provider calls what it said, for who looks for the cause of something. */
  readonly raw: JsonObject
  /** Of all passes together. */
  readonly usage: Usage
  readonly finishReason: FinishReason
  readonly providerMetadata: JsonObject
  readonly warnings: readonly SharedV4Warning[]
  /** What the person answered, in interrupt mode. */
  readonly interruptResponse: Response
  readonly toolCalls: readonly Pick<ToolCallResult, 'toolCallId' | 'toolName' | 'input'>[]
  readonly toolResults: readonly ToolCallResult[]
  readonly steps: readonly ReasonStep[]
}

type Given<S extends Schema | undefined> = S extends Schema ? Jsonified<OutputOf<S>> : undefined

/** Asks a model, and gives what it answered: once that is in the log it is neither asked nor shown again. */
export async function useReason<
  O extends Schema | undefined = undefined,
  R extends Schema | undefined = undefined,
  const Tools extends readonly AnyTool[] = readonly AnyTool[],
>(
  options: ReasonOptions<O, R, Tools>,
): Promise<ReasonResult<Given<O>, (R extends Schema ? Given<R> : Json) | undefined>> {
  const execution = executionOf('useReason')
  const plan = planOf(options as ReasonOptions)
  const value = await execution.call('useReason', plan.id, async call => {
    const { result, said } = await work(call, plan)
    return { value: result as unknown as Json, said }
  })
  const { work: flow } = execution
  // What it used is in the run's usage from here on.
  await flow.session.sync(flow.writer.cursor.sequence)
  return { output: undefined, interruptResponse: undefined, ...(value as object) } as Awaited<
    ReturnType<typeof useReason<O, R, Tools>>
  >
}

/** What a call is to do, with all that was not said. */
interface Plan {
  readonly id: string | undefined
  readonly agent: Agent
  readonly messages: readonly Message[]
  readonly isShown: boolean
  readonly structured: StructuredOptions | undefined
  readonly output: { readonly schema: Schema; readonly jsonSchema: JsonSchema } | undefined
  readonly interrupt: ReasonInterrupt<Schema | undefined> | undefined
  readonly responseFormat: LanguageModelV4CallOptions['responseFormat']
  readonly abortSignal: AbortSignal | undefined
  readonly warnings: readonly SharedV4Warning[]
}

/** How many model calls there may be, if nothing is said. */
export const REASON_STEPS = 8

/** Checks what is asked for; throws, with the place, where it cannot be. */
function planOf(options: ReasonOptions<Schema | undefined, Schema | undefined>): Plan {
  if (typeof options !== 'object' || options === null) {
    throw new ValidationError(`useReason: expected options, found ${foundOf(options)}`)
  }
  const { model, input, system, abortSignal, reasoning, responseFormat, emit = true, stream = true } = options
  const { id, outputSchema, jsonSchema, structured, interrupt, toolExecution, maxRetries = MAX_RETRIES } = options
  const { temperature, maxOutputTokens, stopSequences, providerOptions } = options
  const asked = asV4(model, 'useReason: model')
  if (structured && outputSchema === undefined) {
    throw new ValidationError('useReason: structured: it shows the object that outputSchema describes: give both')
  }
  const tools = toolsOf(options.tools ?? [], toolExecution, emit)
  const thought = reasoningOf(asked, reasoning ?? {}, providerOptions)
  const settings: ModelSettings = {
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(stopSequences !== undefined && { stopSequences: [...stopSequences] }),
    ...thought.settings,
  }
  const output = outputSchema && {
    schema: outputSchema,
    jsonSchema: jsonSchemaOf(outputSchema, 'useReason: outputSchema', jsonSchema),
  }
  return {
    id,
    messages: messagesOf(input),
    isShown: emit,
    structured: emit ? structured : undefined,
    output,
    interrupt,
    responseFormat,
    abortSignal,
    warnings: thought.warnings,
    agent: {
      kind: 'agent',
      name: id ?? 'answer',
      program: '',
      model: stream ? model : unstreamed(model),
      settings,
      instructions: system,
      tools,
      subAgents: [],
      output,
      state: undefined,
      initialState: undefined,
      stopWhen: undefined,
      budget: {
        steps: toolExecution?.maxSteps ?? REASON_STEPS,
        tokens: Number.POSITIVE_INFINITY,
        time: Number.POSITIVE_INFINITY,
      },
      trimHistory: undefined,
      parallelCalls: toolExecution?.parallelCalls ?? PARALLEL_CALLS,
      maxRetries,
    },
  }
}

/** Models that answer whole, by those that could stream: what is known of one is known of it whenever it is asked for. */
const whole = new WeakMap<Model, Model>()

/** A model that does not stream. */
function unstreamed(model: Model): Model {
  const known = whole.get(model)
  if (known) return known
  const { provider, modelId, supportedUrls } = asV4(model)
  const made: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider,
    modelId,
    supportedUrls,
    doGenerate: call => asV4(model).doGenerate(call),
    doStream: call => generated(model, call),
  }
  whole.set(model, made)
  return made
}

function toolsOf(tools: readonly AnyTool[], execution: ToolExecution | undefined, emit: boolean): readonly AnyTool[] {
  const { approval } = execution ?? {}
  return tools.map(tool => {
    const asks = typeof approval === 'object' ? approval[tool.name] : approval
    const known = asks === undefined || tool.executor === 'provider' ? tool : ({ ...tool, approval: asks } as AnyTool)
    const isAsked = known.executor === 'client' || (known.executor === 'server' && known.approval)
    if (isAsked && !emit) {
      throw new ValidationError(
        `useReason: emit: false hides what somebody has to answer for tool ${tool.name}: leave it out`,
      )
    }
    return known
  })
}

/** The model's work, in one pass or, where it asks a person, in two. */
async function work(call: Call, plan: Plan): Promise<{ result: ReasonResult; said: Reasoned['said'] }> {
  if (plan.interrupt === undefined) {
    const done = await reason(call, settingsOf(call, plan, 1))
    return { result: resultOf(plan, [done]), said: done.said }
  }
  return workWithPerson(call, plan, plan.interrupt)
}

function settingsOf(call: Call, plan: Plan, pass: number) {
  const { agent, messages, isShown, output, responseFormat, abortSignal } = plan
  return {
    agent,
    messages,
    isShown,
    pass,
    abortSignal,
    ...(responseFormat && { responseFormat }),
    ...(output && { output: { schema: output.schema, ...shownOf(call, plan) } }),
  }
}

/** The object that readers see while it comes to be, under the same name whenever the call is made again. */
function shownOf(
  { hookId, execution }: Call,
  { structured, id }: Plan,
): Pick<OutputSettings, 'fields'> & { readonly shown?: Identity } {
  if (structured === undefined) return { fields: {} }
  const { dataType = 'generic', schemaId, schemaVersion, fields = {}, stream = true } = structured
  const shown: Identity = {
    streamId: `${execution.work.runId}:${hookId.replace('/', ':')}`,
    dataType,
    ...(schemaId !== undefined && { schemaId }),
    ...(schemaVersion !== undefined && { schemaVersion }),
    ...(id !== undefined && { id }),
    node: execution.at.node,
  }
  return { shown, fields: stream ? fields : {} }
}

/** First the model says what it would ask, then a person answers, then the model says the rest. */
async function workWithPerson(
  call: Call,
  plan: Plan,
  interrupt: ReasonInterrupt<Schema | undefined>,
): Promise<{ result: ReasonResult; said: Reasoned['said'] }> {
  const { execution, hookId } = call
  const key = `${hookId}/first`
  let first = execution.replay.partsOf(key)[0]?.value as unknown as FirstPass | undefined
  let said: Reasoned['said'] = []
  if (first === undefined) {
    const envelope = envelopeOf(plan.output, interrupt)
    const settings = settingsOf(call, plan, 1)
    const done = await reason(call, {
      ...settings,
      agent: { ...plan.agent, output: envelope },
      output: {
        ...shownOf(call, plan),
        schema: envelope.schema,
        at: 'output',
        isFinal: document => !isAsking(document),
      },
    })
    first = { ...done, said: undefined, document: done.output as JsonObject } as unknown as FirstPass
    if (!isAsking(first.document)) {
      const { output, draftText } = first.document
      const text = typeof draftText === 'string' ? draftText : done.text
      return { result: resultOf(plan, [{ ...done, text, output: output as Json | undefined }]), said: done.said }
    }
    const record = { hookId: key, hook: 'useReason', given: { value: first as unknown as Json } }
    execution.replay.note(record)
    said = [...done.said, recordOf(record, call.lane)]
  }
  const { responseSchema, schemaId, schemaVersion } = interrupt
  const response = await ask(
    call,
    {
      request: first.document['interruptRequest'] as never,
      responseSchema,
      ...(schemaId !== undefined && { schemaId }),
      ...(schemaVersion !== undefined && { schemaVersion }),
    },
    said,
  )
  const settings = settingsOf(call, plan, 2)
  const done = await reason(call, {
    ...settings,
    messages: [...plan.messages, ...continued(first, response)],
    ...(settings.output && { output: { ...settings.output, replaces: 'continued' } }),
  })
  return { result: { ...resultOf(plan, [first, done]), interruptResponse: response }, said: done.said }
}

type Pass = Pick<Reasoned, 'steps' | 'calls' | 'text' | 'output' | 'finishReason'>

/** What a call gives, over all its passes. */
function resultOf(plan: Plan, passes: readonly Pass[]): ReasonResult {
  const last = passes.at(-1) as Pass
  const steps = passes.flatMap(pass => pass.steps)
  const calls = passes.flatMap(pass => pass.calls)
  if (plan.output && last.output === undefined && plan.interrupt === undefined && !calls.some(isFinished)) {
    throw new MillraceError('output_invalid', 'the model ended without the object that it was asked for')
  }
  return {
    text: last.text,
    output: last.output,
    raw: Object.assign({}, ...steps.map(({ raw }) => raw)) as JsonObject,
    usage: steps.reduce((all, { usage }) => sum(all, usage), {} as Usage),
    finishReason: last.finishReason,
    providerMetadata: Object.assign({}, ...steps.map(step => step.providerMetadata)) as JsonObject,
    warnings: distinct([
      ...plan.warnings,
      ...steps.flatMap(({ warnings = [] }) => warnings as unknown as SharedV4Warning[]),
    ]),
    interruptResponse: undefined,
    toolCalls: calls.map(({ toolCallId, toolName, input }) => ({ toolCallId, toolName, input })),
    toolResults: calls.map(outcomeOf),
    steps,
  }
}

const isFinished = ({ state }: ToolPart): boolean => state === 'output-available'

function outcomeOf({ toolCallId, toolName, input, state, output, errorText, approval }: ToolPart): ToolCallResult {
  return {
    toolCallId,
    toolName,
    input,
    ...(state === 'output-available' && { output: output ?? null }),
    ...(state === 'output-error' && { error: errorText ?? '' }),
    ...(state === 'output-denied' && { isDenied: true, error: approval?.reason ?? 'the call was denied' }),
  }
}

function sum(all: Usage, more: Usage = {}): Usage {
  const total: { [name: string]: number } = { ...all }
  for (const [name, count] of Object.entries(more)) total[name] = (total[name] ?? 0) + count
  return total as Usage
}

function distinct(warnings: readonly SharedV4Warning[]): readonly SharedV4Warning[] {
  return [...new Map(warnings.map(warning => [JSON.stringify(warning), warning])).values()]
}
