// What a call of a model in a node is to do, with all that was not said: checked, because code may have put it together at run time.

import type { LanguageModelV4CallOptions, SharedV4Warning } from '@ai-sdk/provider'
import { FieldWatcher, type Message } from '@millrace/protocol'
import { type Agent, MAX_RETRIES, PARALLEL_CALLS } from '../../define/agent.ts'
import { subAgentOf } from '../../define/sub-agent.ts'
import type { Callable } from '../../define/tool.ts'
import { describeType } from '../../error/check-object.ts'
import { ValidationError } from '../../error/error.ts'
import { nonStreamingModel } from '../../model/generate-result.ts'
import { asV4, type ModelSettings } from '../../model/model.ts'
import { reasoningOf } from '../../model/reasoning.ts'
import { checkSchema, type JsonSchema, jsonSchemaOf, type Schema } from '../../schema/schema.ts'
import { mayHave } from './field-check.ts'
import { messagesOf } from './input.ts'
import type { ReasonInterrupt } from './interrupt-pass.ts'
import type { ReasonOptions, StructuredOptions } from './reason-options.ts'

export interface Plan {
  readonly id: string | undefined
  readonly agent: Agent
  readonly messages: readonly Message[]
  readonly isShown: boolean
  readonly areThoughtsShown: boolean
  readonly structured: StructuredOptions | undefined
  readonly output: { readonly schema: Schema; readonly jsonSchema: JsonSchema } | undefined
  readonly interrupt: ReasonInterrupt<Schema | undefined> | undefined
  readonly responseFormat: LanguageModelV4CallOptions['responseFormat']
  readonly abortSignal: AbortSignal | undefined
  readonly warnings: readonly SharedV4Warning[]
}

/** Options of which nobody knows the types. */
export type AnyReasonOptions = ReasonOptions<Schema | undefined, Schema | undefined>

/** How many model calls there may be, if nothing is said. */
export const REASON_STEPS = 8

/** The plan of a call; throws, with the place, where it cannot be made. */
export function planOf(options: AnyReasonOptions): Plan {
  if (typeof options !== 'object' || options === null) {
    throw new ValidationError(`useReason: expected options, found ${describeType(options)}`)
  }
  check(options)
  const { model, input, system, abortSignal, reasoning, responseFormat, emit = true, stream = true } = options
  const { id, structured, interrupt, toolExecution, maxRetries = MAX_RETRIES } = options
  const asked = asV4(model, 'useReason: model')
  const thought = reasoningOf(asked, reasoning ?? {}, options.providerOptions)
  const output = outputOf(options)
  checkFields(options, output)
  return {
    id,
    messages: messagesOf(input),
    isShown: emit,
    areThoughtsShown: reasoning?.includeThoughts !== false,
    structured: emit ? structured : undefined,
    output,
    interrupt,
    responseFormat,
    abortSignal,
    warnings: thought.warnings,
    agent: {
      kind: 'agent',
      name: id ?? 'useReason',
      program: '',
      model: stream ? model : nonStreamingModel(model),
      settings: { ...settingsOf(options), ...thought.settings },
      instructions: system,
      ...callablesOf(options, emit),
      output,
      stateSchema: undefined,
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
const wholeFrom = (least: number): Expectation => [
  value => Number.isSafeInteger(value) && value >= least,
  `a whole number of at least ${least}`,
]
const oneOf = (...words: readonly string[]): Expectation => [value => words.includes(value), words.join(' or ')]

/** What stands where, if it is there; what has a check of its own elsewhere is not among it. */
const EXPECTED: { readonly [path: string]: Expectation } = {
  system: TEXT,
  temperature: [value => Number.isFinite(value), 'a number'],
  maxOutputTokens: wholeFrom(1),
  stopSequences: [
    (value: unknown) => Array.isArray(value) && value.every(one => typeof one === 'string'),
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
  'toolExecution.maxSteps': wholeFrom(1),
  'toolExecution.approval': [
    value => typeof value === 'boolean' || typeof value === 'object',
    'true, false, or an object of them by the names of tools',
  ],
  'toolExecution.parallelCalls': wholeFrom(1),
  maxRetries: wholeFrom(0),
}

/** The options that have a check of their own elsewhere. */
const OTHERS = [
  'id',
  'model',
  'input',
  'outputSchema',
  'jsonSchema',
  'interrupt.requestSchema',
  'interrupt.responseSchema',
  'reasoning.effort',
  'reasoning.maxTokens',
  'reasoning.includeThoughts',
]

const KNOWN: ReadonlySet<string> = new Set([...Object.keys(EXPECTED), ...OTHERS])

/** Throws where there is an option that nobody reads, such as one that is misspelt. */
function checkNames(options: AnyReasonOptions): void {
  const { reasoning, structured, interrupt, toolExecution } = options
  const below = Object.entries({ reasoning, structured, interrupt, toolExecution }).flatMap(([name, given]) =>
    Object.keys(given ?? {}).map(key => `${name}.${key}`),
  )
  const unknown = [...Object.keys(options), ...below].find(path => !KNOWN.has(path))
  if (unknown !== undefined) throw new ValidationError(`useReason: ${unknown.slice(0, 60)}: there is no such option`)
}

function check(options: AnyReasonOptions): void {
  for (const [path, [is, expected]] of Object.entries(EXPECTED)) {
    const [first = '', second] = path.split('.')
    const above = (options as unknown as { readonly [name: string]: object | undefined })[first]
    const value = second === undefined ? above : (above as { readonly [name: string]: unknown } | undefined)?.[second]
    if (value === undefined || (value !== null && is(value as never))) continue
    const found = typeof value === 'number' || typeof value === 'string' ? JSON.stringify(value) : describeType(value)
    throw new ValidationError(`useReason: ${path}: expected ${expected}, found ${found.slice(0, 60)}`)
  }
  checkNames(options)
  const { structured, outputSchema, interrupt } = options
  if (structured && outputSchema === undefined) {
    throw new ValidationError('useReason: structured: it shows the object that outputSchema describes: give both')
  }
  try {
    new FieldWatcher(structured?.fields ?? {})
  } catch (cause) {
    throw new ValidationError(`useReason: structured.fields: ${(cause as Error).message}`, { cause })
  }
  if (interrupt) checkSchema(interrupt.requestSchema, 'useReason: interrupt.requestSchema')
  if (interrupt?.responseSchema) checkSchema(interrupt.responseSchema, 'useReason: interrupt.responseSchema')
}

/** Throws where a field is declared that the schema has not; what a JSON Schema leaves out that was given beside, the schema may have. */
function checkFields({ structured, jsonSchema }: AnyReasonOptions, output: Plan['output']): void {
  if (output === undefined || jsonSchema !== undefined) return
  const unknown = Object.keys(structured?.fields ?? {}).find(path => !mayHave(output.jsonSchema, path))
  if (unknown === undefined) return
  throw new ValidationError(`useReason: structured.fields: outputSchema has no ${unknown.slice(0, 60)}`)
}

/** The output that is asked for; only objects and arrays can be told from the words around them. */
function outputOf({ outputSchema, jsonSchema }: AnyReasonOptions): Plan['output'] {
  if (outputSchema === undefined) {
    if (jsonSchema === undefined) return undefined
    throw new ValidationError('useReason: jsonSchema: it describes what outputSchema checks: give both')
  }
  const known = jsonSchemaOf(outputSchema, 'useReason: outputSchema', jsonSchema)
  const { type = 'object' } = known
  if (type === 'object' || type === 'array') return { schema: outputSchema, jsonSchema: known }
  throw new ValidationError(
    `useReason: outputSchema: expected a schema of an object or an array, found one of ${JSON.stringify(type)}: wrap it in an object`,
  )
}

/** What the model may call: tools, agents and workflows. */
function callablesOf(options: AnyReasonOptions, emit: boolean): Pick<Agent, 'tools' | 'subAgents'> {
  const approval = options.toolExecution?.approval
  const names = new Set<string>()
  const known = givenOf(options).map((callable): Callable => {
    const { name, executor } = callable
    if (names.has(name)) throw new ValidationError(`useReason: tools: duplicate name ${name}`)
    names.add(name)
    // What it gave would be the answer, which nobody has checked, and of which nobody was asked.
    if (executor === 'server' && callable.finish && (options.outputSchema || options.interrupt)) {
      const instead = options.interrupt ? 'interrupt' : 'outputSchema'
      throw new ValidationError(
        `useReason: tools: ${name} ends the call, which with ${instead} the model itself has to: leave its finish out`,
      )
    }
    const asks = typeof approval === 'object' ? approval[name] : approval
    if (asks && executor === 'provider') {
      throw new ValidationError(
        `useReason: toolExecution.approval: the provider runs tool ${name} by itself and asks nobody: leave it out, or give approval by the names of the others`,
      )
    }
    const own = asks === undefined || executor === 'provider' ? callable : ({ ...callable, approval: asks } as Callable)
    // What works for a call may ask somebody too.
    const isAsked = executor === 'client' || executor === 'agent' || (own.executor === 'server' && own.approval)
    if (isAsked && !emit) {
      throw new ValidationError(
        `useReason: emit: false hides what somebody has to answer for tool ${name}: leave it out`,
      )
    }
    return own
  })
  const other = typeof approval === 'object' ? Object.keys(approval).find(name => !names.has(name)) : undefined
  // Who misspells a name would have it run unasked.
  if (other !== undefined) {
    throw new ValidationError(`useReason: toolExecution.approval: there is no tool by the name ${other}`)
  }
  return {
    tools: known.filter(one => one.executor !== 'agent'),
    subAgents: known.filter(one => one.executor === 'agent'),
  }
}

function givenOf({ tools = [], subAgents = [] }: AnyReasonOptions): readonly Callable[] {
  for (const [index, tool] of tools.entries()) {
    if (tool?.executor !== undefined) continue
    throw new ValidationError(`useReason: tools.${index}: expected the result of tool() or providerTool()`)
  }
  return [...tools, ...subAgents.map((one, index) => subAgentOf(`useReason: subAgents.${index}`, one))]
}
