import type { Json, JsonObject, Message } from '@millrace/protocol'
import { ValidationError } from '../error/error.ts'
import type { Model, ModelSettings } from '../model/model.ts'
import { type JsonSchema, jsonSchemaOf, type OutputOf, type Schema } from '../schema/schema.ts'
import type { AnyTool } from '../tool/tool.ts'
import { type Budget, budgetOf } from './budget.ts'

/** What an agent's own code is given: where it stands. */
export interface AgentContext<State = Json | undefined, Context = Json | undefined> {
  readonly sessionId: string
  readonly runId: string
  readonly agentId: string
  readonly agentType: string
  /** The step that is about to begin, or has just ended. */
  readonly step: number
  /** What the server's own code gave this run, with what `resolveContext` added. */
  readonly context: Context
  readonly state: State
  /** What the client sent with its request: input, and so not to be trusted. */
  readonly data: Json | undefined
  readonly abortSignal: AbortSignal
}

/** A value, or what computes it from where the agent stands. */
export type Computed<T> = T | ((context: AgentContext) => T | PromiseLike<T>)

/** A step that has ended. */
export interface EndedStep extends AgentContext {
  /** The agent's message so far. */
  readonly message: Message
  /** The names of the tools called in this step. */
  readonly toolNames: readonly string[]
}

export interface AgentDefinition<
  Name extends string,
  Tools extends readonly AnyTool[],
  O extends Schema | undefined,
  S extends Schema | undefined,
> {
  readonly name: Name
  /** Of the program; a worker takes only runs of a version that it has. */
  readonly version?: string
  readonly model: Computed<Model>
  readonly settings?: ModelSettings
  readonly instructions?: Computed<string | undefined>
  readonly tools?: Tools | ((context: AgentContext) => Tools | PromiseLike<Tools>)
  /** What the run's output must be; then the model answers in JSON. */
  readonly output?: O
  /** The JSON Schema of the output, where `output` cannot say it by itself. */
  readonly jsonSchema?: JsonSchema
  /** The schema of the session's state, and what it is at first. */
  readonly state?: S
  readonly initialState?: JsonObject
  /** Ends the run after a step, though the model would go on. */
  readonly stopWhen?: (step: EndedStep) => boolean | PromiseLike<boolean>
  readonly maxSteps?: number
  readonly budget?: Partial<Omit<Budget, 'steps'>>
  /** What of a long history the model is sent; all of it, if nothing is said. */
  readonly trimHistory?: (
    messages: readonly Message[],
    context: AgentContext,
  ) => readonly Message[] | PromiseLike<readonly Message[]>
  /** How many calls of a step run at a time. */
  readonly parallelCalls?: number
  /** How often a model call that failed is tried again. */
  readonly maxRetries?: number
}

/** A program: a model with instructions, tools and bounds. */
export interface Agent<
  Name extends string = string,
  Tools extends readonly AnyTool[] = readonly AnyTool[],
  Output = unknown,
> {
  readonly kind: 'agent'
  readonly name: Name
  /** `agent:name@version`. */
  readonly program: string
  readonly model: Computed<Model>
  readonly settings: ModelSettings
  readonly instructions: Computed<string | undefined>
  readonly tools: Tools | ((context: AgentContext) => Tools | PromiseLike<Tools>)
  readonly output: { readonly schema: Schema<unknown, Output>; readonly jsonSchema: JsonSchema } | undefined
  readonly state: Schema | undefined
  readonly initialState: JsonObject | undefined
  readonly stopWhen: ((step: EndedStep) => boolean | PromiseLike<boolean>) | undefined
  readonly budget: Budget
  readonly trimHistory: AgentDefinition<Name, Tools, undefined, undefined>['trimHistory']
  readonly parallelCalls: number
  readonly maxRetries: number
}

/** What a run of an agent gives: the value of its `output`, or nothing. */
export type AgentOutput<O> = O extends Schema ? OutputOf<O> : undefined

/** How many calls of a step run at a time, if nothing is said. */
export const PARALLEL_CALLS = 8
/** How often a model call that failed is tried again, if nothing is said. */
export const MAX_RETRIES = 3

const NAME = /^[A-Za-z0-9_.-]{1,64}$/

/** Defines an agent; throws where it could not run. */
export function agent<
  const Name extends string,
  const Tools extends readonly AnyTool[] = readonly [],
  O extends Schema | undefined = undefined,
  S extends Schema | undefined = undefined,
>(definition: AgentDefinition<Name, Tools, O, S>): Agent<Name, Tools, AgentOutput<O>> {
  const { name, version = '1', model, tools = [] as unknown as Tools, output, state, initialState } = definition
  for (const [what, text] of Object.entries({ name, version })) {
    if (NAME.test(text)) continue
    throw new ValidationError(
      `agent ${JSON.stringify(name)}: ${what}: expected 1 to 64 letters, digits, _, . and -, found ${JSON.stringify(text)}`,
    )
  }
  if (typeof model !== 'function' && typeof model?.doStream !== 'function') {
    throw new ValidationError(`agent ${name}: model: expected a model of an AI SDK provider`)
  }
  if (typeof tools !== 'function') checkTools(name, tools)
  const { parallelCalls = PARALLEL_CALLS, maxRetries = MAX_RETRIES } = definition
  checkCount(name, 'parallelCalls', parallelCalls, 1)
  checkCount(name, 'maxRetries', maxRetries, 0)
  return {
    kind: 'agent',
    name,
    program: `agent:${name}@${version}`,
    model,
    settings: definition.settings ?? {},
    instructions: definition.instructions,
    tools,
    output: output && {
      schema: output as Schema<unknown, AgentOutput<O>>,
      jsonSchema: jsonSchemaOf(output, `agent ${name}: output`, definition.jsonSchema),
    },
    state,
    initialState,
    stopWhen: definition.stopWhen,
    budget: budgetOf(name, {
      ...definition.budget,
      ...(definition.maxSteps !== undefined && { steps: definition.maxSteps }),
    }),
    trimHistory: definition.trimHistory,
    parallelCalls,
    maxRetries,
  }
}

/** Throws where two tools have one name. */
export function checkTools(name: string, tools: readonly AnyTool[]): void {
  const names = new Set<string>()
  for (const tool of tools) {
    if (names.has(tool.name)) throw new ValidationError(`agent ${name}: tools: there are two by the name ${tool.name}`)
    names.add(tool.name)
  }
}

function checkCount(name: string, what: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return
  throw new ValidationError(`agent ${name}: ${what}: expected a whole number from ${least} on, found ${value}`)
}

/** What something is here and now. */
export async function compute<T>(computed: Computed<T>, context: AgentContext): Promise<T> {
  return typeof computed === 'function'
    ? (computed as (context: AgentContext) => T | PromiseLike<T>)(context)
    : computed
}
