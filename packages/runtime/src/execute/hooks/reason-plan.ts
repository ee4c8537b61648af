// Validates the options of `useReason` and adds the defaults, because code may build options at run time.

import type { LanguageModelV4CallOptions, SharedV4Warning } from '@ai-sdk/provider'
import { FieldWatcher, type Message } from '@millrace/protocol'
import { type Agent, DEFAULT_MAX_RETRIES, DEFAULT_PARALLEL_CALLS } from '../../define/agent.ts'
import { subAgentOf } from '../../define/sub-agent.ts'
import type { Callable } from '../../define/tool.ts'
import { describeType } from '../../error/check-object.ts'
import { ValidationError } from '../../error/error.ts'
import { nonStreamingModel } from '../../model/generate-result.ts'
import { asV4, type ModelSettings } from '../../model/model.ts'
import { modelLimitsOf } from '../../model/model-limits.ts'
import { reasoningOf } from '../../model/reasoning.ts'
import { checkSchema, type JsonSchema, jsonSchemaOf, type Schema } from '../../schema/schema.ts'
import { mayHaveField } from './field-paths.ts'
import type { ReasonInterrupt } from './interrupt-pass.ts'
import { messagesOf } from './reason-input.ts'
import type { ReasonOptions, StructuredOptions } from './reason-options.ts'

export interface ReasonPlan {
  readonly id: string | undefined
  readonly agent: Agent
  readonly messages: readonly Message[]
  readonly isShown: boolean
  readonly isReasoningShown: boolean
  readonly structured: StructuredOptions | undefined
  readonly output: { readonly schema: Schema; readonly jsonSchema: JsonSchema } | undefined
  readonly interrupt: ReasonInterrupt<Schema | undefined> | undefined
  readonly responseFormat: LanguageModelV4CallOptions['responseFormat']
  readonly abortSignal: AbortSignal | undefined
  readonly warnings: readonly SharedV4Warning[]
}

/** Options with unknown types. */
export type AnyReasonOptions = ReasonOptions<Schema | undefined, Schema | undefined>

/** Default of `maxSteps`. */
export const REASON_STEPS = 8

/** Validates the options. @throws {ValidationError} with the path of an invalid option. */
export function planOf(options: AnyReasonOptions): ReasonPlan {
  if (typeof options !== 'object' || options === null) {
    throw new ValidationError(`useReason: expected options, found ${describeType(options)}`)
  }
  check(options)
  const { model, input, system, abortSignal, reasoning, responseFormat, emit = true, stream = true } = options
  const { id, structured, interrupt, toolExecution, maxRetries = DEFAULT_MAX_RETRIES, modelLimits = {} } = options
  modelLimitsOf('useReason: modelLimits', modelLimits)
  const plannedModel = asV4(model, 'useReason: model')
  const reasoningSettings = reasoningOf(plannedModel, reasoning ?? {}, options.providerOptions)
  const output = outputOf(options)
  checkFields(options, output)
  return {
    id,
    messages: messagesOf(input),
    isShown: emit,
    isReasoningShown: reasoning?.includeThoughts !== false,
    structured: emit ? structured : undefined,
    output,
    interrupt,
    responseFormat,
    abortSignal,
    warnings: reasoningSettings.warnings,
    agent: {
      kind: 'agent',
      name: id ?? 'useReason',
      program: '',
      model: stream ? model : nonStreamingModel(model),
      settings: { ...settingsOf(options), ...reasoningSettings.settings },
      instructions: system,
      ...callablesOf(options, emit),
      outputSchema: output?.schema,
      jsonSchema: output?.jsonSchema,
      stateSchema: undefined,
      initialState: undefined,
      stopWhen: undefined,
      budget: {
        steps: toolExecution?.maxSteps ?? REASON_STEPS,
        tokens: Number.POSITIVE_INFINITY,
        bytes: Number.POSITIVE_INFINITY,
        timeMs: Number.POSITIVE_INFINITY,
      },
      trimHistory: undefined,
      parallelCalls: toolExecution?.parallelCalls ?? DEFAULT_PARALLEL_CALLS,
      maxRetries,
      modelLimits,
    },
  }
}

function settingsOf({ temperature, maxOutputTokens, stopSequences }: AnyReasonOptions): ModelSettings {
  return {
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(stopSequences !== undefined && { stopSequences: [...stopSequences] }),
  }
}

type Expectation = readonly [is: (value: never) => boolean, expected: string]

const TEXT: Expectation = [value => typeof value === 'string', 'text']
const FLAG: Expectation = [value => typeof value === 'boolean', 'true or false']
const OBJECT: Expectation = [value => typeof value === 'object' && !Array.isArray(value), 'an object']
const integerFrom = (min: number): Expectation => [
  value => Number.isSafeInteger(value) && value >= min,
  `a whole number of at least ${min}`,
]
const oneOf = (...values: readonly string[]): Expectation => [value => values.includes(value), values.join(' or ')]

/** Types of options by path. Options with their own checks are not listed. */
const EXPECTED: { readonly [path: string]: Expectation } = {
  system: TEXT,
  temperature: [value => Number.isFinite(value), 'a number'],
  maxOutputTokens: integerFrom(1),
  stopSequences: [
    (value: unknown) => Array.isArray(value) && value.every(item => typeof item === 'string'),
    'an array of texts',
  ],
  providerOptions: OBJECT,
  abortSignal: [value => (value as unknown) instanceof AbortSignal, 'an AbortSignal'],
  reasoning: OBJECT,
  responseFormat: OBJECT,
  'responseFormat.type': oneOf('text', 'json'),
  emit: FLAG,
  stream: FLAG,
  structured: OBJECT,
  'structured.stream': FLAG,
  'structured.dataType': TEXT,
  'structured.schemaId': TEXT,
  'structured.schemaVersion': TEXT,
  'structured.fields': OBJECT,
  interrupt: OBJECT,
  'interrupt.mode': oneOf('required', 'optional'),
  'interrupt.schemaId': TEXT,
  'interrupt.schemaVersion': TEXT,
  tools: [value => Array.isArray(value), 'an array'],
  subAgents: [value => Array.isArray(value), 'an array'],
  toolExecution: OBJECT,
  'toolExecution.maxSteps': integerFrom(1),
  'toolExecution.approval': [
    value => typeof value === 'boolean' || typeof value === 'object',
    'true, false, or an object of them by the names of tools',
  ],
  'toolExecution.parallelCalls': integerFrom(1),
  maxRetries: integerFrom(0),
}

/** Options with their own checks. */
const OPTIONS_WITH_OWN_CHECKS = [
  'id',
  'model',
  'input',
  'outputSchema',
  'jsonSchema',
  'interrupt.requestSchema',
  'interrupt.responseSchema',
  'modelLimits',
  'reasoning.effort',
  'reasoning.maxTokens',
  'reasoning.includeThoughts',
]

const ALL_OPTIONS: ReadonlySet<string> = new Set([...Object.keys(EXPECTED), ...OPTIONS_WITH_OWN_CHECKS])

/** Options that only Kortyx has, with what to do instead. */
const INSTEAD_OF_KORTYX_OPTIONS: ReadonlyMap<string, string> = new Map([
  [
    'toolExecution.emit',
    'readers see all tool calls: remove it, or hide the calls together with the answer by the option emit: false',
  ],
  [
    'structured.optimistic',
    'fields are shown while the model writes them: remove it, or declare them in structured.fields',
  ],
])

/** @throws {ValidationError} if an option is unknown, such as a misspelled one. */
function checkNames(options: AnyReasonOptions): void {
  const { reasoning, structured, interrupt, toolExecution } = options
  const nestedPaths = Object.entries({ reasoning, structured, interrupt, toolExecution }).flatMap(([name, value]) =>
    Object.keys(value ?? {}).map(key => `${name}.${key}`),
  )
  const unknown = [...Object.keys(options), ...nestedPaths].find(path => !ALL_OPTIONS.has(path))
  if (unknown === undefined) return
  const instead = INSTEAD_OF_KORTYX_OPTIONS.get(unknown) ?? 'remove it'
  throw new ValidationError(`useReason: ${unknown.slice(0, 60)}: unknown option: ${instead}`)
}

function check(options: AnyReasonOptions): void {
  for (const [path, [is, expected]] of Object.entries(EXPECTED)) {
    const [first = '', second] = path.split('.')
    const option = (options as unknown as { readonly [name: string]: object | undefined })[first]
    const value = second === undefined ? option : (option as { readonly [name: string]: unknown } | undefined)?.[second]
    if (value === undefined || (value !== null && is(value as never))) continue
    const found = typeof value === 'number' || typeof value === 'string' ? JSON.stringify(value) : describeType(value)
    throw new ValidationError(`useReason: ${path}: expected ${expected}, found ${found.slice(0, 60)}`)
  }
  checkNames(options)
  const { structured, outputSchema, interrupt } = options
  if (structured && outputSchema === undefined) {
    throw new ValidationError('useReason: structured: expected outputSchema too, found none: set it')
  }
  try {
    new FieldWatcher(structured?.fields ?? {})
  } catch (cause) {
    throw new ValidationError(`useReason: structured.fields: ${(cause as Error).message}`, { cause })
  }
  if (interrupt) checkSchema(interrupt.requestSchema, 'useReason: interrupt.requestSchema')
  if (interrupt?.responseSchema) checkSchema(interrupt.responseSchema, 'useReason: interrupt.responseSchema')
}

/**
 * @throws {ValidationError} if a declared field is not in the schema. A given `jsonSchema` may be incomplete, so it is
 * not checked.
 */
function checkFields({ structured, jsonSchema }: AnyReasonOptions, output: ReasonPlan['output']): void {
  if (output === undefined || jsonSchema !== undefined) return
  const unknown = Object.keys(structured?.fields ?? {}).find(path => !mayHaveField(output.jsonSchema, path))
  if (unknown === undefined) return
  throw new ValidationError(
    `useReason: structured.fields: expected fields of outputSchema, found ${unknown.slice(0, 60)}: correct the path, or add the field`,
  )
}

/** The output. Only objects and arrays can be found in surrounding text. */
function outputOf({ outputSchema, jsonSchema }: AnyReasonOptions): ReasonPlan['output'] {
  if (outputSchema === undefined) {
    if (jsonSchema === undefined) return undefined
    throw new ValidationError('useReason: jsonSchema: expected outputSchema too, found none: set it')
  }
  const outputJsonSchema = jsonSchemaOf(outputSchema, 'useReason: outputSchema', jsonSchema)
  const { type = 'object' } = outputJsonSchema
  if (type === 'object' || type === 'array') return { schema: outputSchema, jsonSchema: outputJsonSchema }
  throw new ValidationError(
    `useReason: outputSchema: expected a schema of an object or an array, found one of ${JSON.stringify(type)}: wrap it in an object`,
  )
}

/** The tools and sub-agents of the model. */
function callablesOf(options: AnyReasonOptions, emit: boolean): Pick<Agent, 'tools' | 'subAgents'> {
  const approval = options.toolExecution?.approval
  const names = new Set<string>()
  const callables = callableListOf(options).map((callable): Callable => {
    const { name, executor } = callable
    if (names.has(name))
      throw new ValidationError(`useReason: tools: expected different names, found ${name} twice: rename one tool`)
    names.add(name)
    // Its output would be the answer without validation and without the interrupt.
    if (executor === 'server' && callable.finish && (options.outputSchema || options.interrupt)) {
      const option = options.interrupt ? 'interrupt' : 'outputSchema'
      throw new ValidationError(
        `useReason: tools: ${name} has finish: true, which is not allowed with ${option}: remove finish`,
      )
    }
    const needsApproval = typeof approval === 'object' ? approval[name] : approval
    if (needsApproval && executor === 'provider') {
      throw new ValidationError(
        `useReason: toolExecution.approval: the provider executes tool ${name} without approval: list the other tools by name`,
      )
    }
    const plannedCallable =
      needsApproval === undefined || executor === 'provider'
        ? callable
        : ({ ...callable, approval: needsApproval } as Callable)
    // Sub-agents may need answers, too.
    const mayNeedAnswer =
      executor === 'client' ||
      executor === 'agent' ||
      (plannedCallable.executor === 'server' && plannedCallable.approval)
    if (mayNeedAnswer && !emit) {
      throw new ValidationError(
        `useReason: emit: false would hide the requests of tool ${name}, which needs an answer: remove emit`,
      )
    }
    return plannedCallable
  })
  const unknownName = typeof approval === 'object' ? Object.keys(approval).find(name => !names.has(name)) : undefined
  // A misspelled name would run without approval.
  if (unknownName !== undefined) {
    throw new ValidationError(
      `useReason: toolExecution.approval: expected names of the tools, found ${unknownName}: correct it, or add the tool`,
    )
  }
  return {
    tools: callables.filter(callable => callable.executor !== 'agent'),
    subAgents: callables.filter(callable => callable.executor === 'agent'),
  }
}

function callableListOf({ tools = [], subAgents = [] }: AnyReasonOptions): readonly Callable[] {
  for (const [index, tool] of tools.entries()) {
    if (tool?.executor !== undefined) continue
    throw new ValidationError(
      `useReason: tools.${index}: expected the result of tool() or providerTool(), found ${describeType(tool)}`,
    )
  }
  return [...tools, ...subAgents.map((subAgent, index) => subAgentOf(`useReason: subAgents.${index}`, subAgent))]
}
