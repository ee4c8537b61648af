import type { Json, JsonObject, Message } from '@millrace/protocol'
import { checkKeys } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import { asV4, type Model, type ModelSettings } from '../model/model.ts'
import type { Jsonified } from '../schema/json.ts'
import { type InputOf, type JsonSchema, jsonSchemaOf, type OutputOf, type Schema } from '../schema/schema.ts'
import { checkCount, checkFunctions, checkName, checkOutput, checkState, checkTools, listOf } from './agent-checks.ts'
import { type Budget, budgetOf } from './budget.ts'
import type { Program } from './program.ts'
import { type SubAgent, subAgentOf } from './sub-agent.ts'
import type { AnyTool, Callable, Tool } from './tool.ts'

/** What an agent's own code is given: where it stands. */
export interface AgentContext<State = Json | undefined, Context = Json | undefined> {
  readonly sessionId: string
  readonly runId: string
  readonly agentId: string
  readonly agentType: string
  /** The step that is about to begin, is at work, or has just ended. */
  readonly step: number
  /** What the server's own code gave this run, with what `resolveContext` added. */
  readonly context: Context
  /** The session's state: a copy. */
  readonly state: State
  /** What the client sent with its request: input, and so not to be trusted. */
  readonly data: Json | undefined
  readonly abortSignal: AbortSignal
}

/** A value, or what computes it from where the agent stands; it is asked afresh in each step, and again where a step goes on after a pause or in another process: tools with open calls are then still among the tools. */
export type Computed<T, State = Json | undefined, Context = Json | undefined> =
  | T
  | ((context: AgentContext<State, Context>) => T | PromiseLike<T>)

/** A step that has ended. */
export interface FinishedStep<ToolName extends string = string, State = Json | undefined, Context = Json | undefined>
  extends AgentContext<State, Context> {
  /** The agent's message so far. */
  readonly message: Message
  /** The names of the tools called in this step; a model may call by a name that none has. */
  readonly toolNames: readonly (ToolName | (string & {}))[]
}

/** The state that a schema describes: as it is kept, before any transform. */
export type StateOf<S extends Schema | undefined> = S extends Schema ? InputOf<S> | undefined : Json | undefined

export interface AgentDefinition<
  Name extends string,
  Tools extends readonly AnyTool[],
  O extends Schema | undefined,
  S extends Schema | undefined,
  State = StateOf<S>,
  Context = Json | undefined,
  Subs extends readonly (Program | SubAgent)[] = readonly (Program | SubAgent)[],
> {
  readonly name: Name
  /** Of the program; a worker takes only runs of a version that it has. */
  readonly version?: string
  readonly model: Computed<Model, State, Context>
  readonly settings?: ModelSettings
  readonly instructions?: Computed<string | undefined, State, Context>
  readonly tools?: Computed<Tools, State, Context>
  /** Agents and workflows that it may call like tools, each as it is or as `subAgent()` describes it. */
  readonly subAgents?: Subs
  /** What the run's output must be; then the model answers in JSON. */
  readonly outputSchema?: O
  /** The JSON Schema of the output, for schemas that cannot produce one. */
  readonly jsonSchema?: JsonSchema
  /** The schema of the session's state, and what it is at first. */
  readonly stateSchema?: S
  readonly initialState?: S extends Schema ? InputOf<S> : JsonObject
  /** Ends the run after a step, though the model would go on. */
  readonly stopWhen?: (step: FinishedStep<Tools[number]['name'], State, Context>) => boolean | PromiseLike<boolean>
  readonly maxSteps?: number
  readonly budget?: Partial<Omit<Budget, 'steps'>>
  /** What of a long history the model is sent; all of it, if nothing is said. */
  readonly trimHistory?: (
    messages: readonly Message[],
    context: AgentContext<State, Context>,
  ) => readonly Message[] | PromiseLike<readonly Message[]>
  /** How many calls of a step run at a time. */
  readonly parallelCalls?: number
  /** How often a model call that failed is tried again. */
  readonly maxRetries?: number
}

const AGENT_OPTIONS: readonly (keyof AgentDefinition<string, readonly AnyTool[], undefined, undefined>)[] = [
  'name',
  'version',
  'model',
  'settings',
  'instructions',
  'tools',
  'subAgents',
  'outputSchema',
  'jsonSchema',
  'stateSchema',
  'initialState',
  'stopWhen',
  'maxSteps',
  'budget',
  'trimHistory',
  'parallelCalls',
  'maxRetries',
]

/** A program: a model with instructions, tools and bounds. */
export interface Agent<
  Name extends string = string,
  Tools extends readonly AnyTool[] = readonly AnyTool[],
  Output = unknown,
  Shown = unknown,
> {
  readonly kind: 'agent'
  readonly name: Name
  /** `agent:name@version`. */
  readonly program: string
  readonly model: Computed<Model>
  readonly settings: ModelSettings
  readonly instructions: Computed<string | undefined>
  readonly tools: Computed<Tools>
  readonly subAgents: readonly SubAgent[]
  readonly output: { readonly schema: Schema; readonly jsonSchema: JsonSchema } | undefined
  readonly stateSchema: Schema | undefined
  readonly initialState: JsonObject | undefined
  readonly stopWhen: ((step: FinishedStep) => boolean | PromiseLike<boolean>) | undefined
  readonly budget: Budget
  readonly trimHistory: AgentDefinition<Name, Tools, undefined, undefined>['trimHistory']
  readonly parallelCalls: number
  readonly maxRetries: number
  /** Never there: what a run of it gives, and what clients see of it, for the compiler. */
  readonly types?: { readonly output: Output; readonly shown: Shown }
}

/** What clients see of an agent beside its tools: the state, and whom it calls. */
export interface AgentShown<S extends Schema | undefined, Called> {
  readonly state: S extends Schema ? Jsonified<InputOf<S>> : unknown
  readonly called: Called
}

/** What a run of an agent gives: the value of its `outputSchema`, or of a finishing tool; else nothing. */
export type AgentOutput<O extends Schema | undefined, Tools extends readonly AnyTool[] = readonly []> = OrNothing<
  (O extends Schema ? Jsonified<OutputOf<O>> : never) | FinishOutput<Tools[number]>
>

type OrNothing<T> = [T] extends [never] ? undefined : T

type FinishOutput<T> =
  T extends Tool<string, unknown, infer Output, infer Finish> ? (true extends Finish ? Output : never) : never

/** The names of an agent's tools. */
export type ToolNames<A> = A extends Agent<string, infer Tools> ? Tools[number]['name'] : never

/** What `run.result()` of an agent has as its output. */
export type OutputOfAgent<A> = A extends Agent<string, readonly AnyTool[], infer Output> ? Output : unknown

/** How many calls of a step run at a time, if nothing is said. */
export const PARALLEL_CALLS = 8
/** How often a model call that failed is tried again, if nothing is said. */
export const MAX_RETRIES = 3

/** Defines an agent; throws where it could not run. */
export function agent<
  const Name extends string,
  const Tools extends readonly AnyTool[] = readonly [],
  O extends Schema | undefined = undefined,
  S extends Schema | undefined = undefined,
  State = StateOf<S>,
  Context = Json | undefined,
  const Subs extends readonly (Program | SubAgent)[] = readonly [],
>(
  definition: AgentDefinition<Name, Tools, O, S, State, Context, Subs>,
): Agent<Name, Tools, AgentOutput<O, Tools>, AgentShown<S, Subs[number]>> {
  const { name, version = '1', tools = [], outputSchema } = definition
  // What the code of an agent sees of state and context is for itself to say.
  const { model, instructions, stateSchema, initialState, stopWhen, trimHistory } = definition as unknown as Agent
  const { parallelCalls = PARALLEL_CALLS, maxRetries = MAX_RETRIES } = definition
  checkName('agent', name, 'name', name)
  checkName('agent', name, 'version', version)
  checkKeys(`agent ${name}`, definition, AGENT_OPTIONS)
  if (typeof model !== 'function') asV4(model, `agent ${name}: model`)
  const subAgents = subAgentsOf(name, definition.subAgents)
  checkTools(name, typeof tools === 'function' ? subAgents : [...listOf(name, tools), ...subAgents])
  checkFunctions(name, { stopWhen, trimHistory })
  checkCount(name, 'parallelCalls', parallelCalls, 1)
  checkCount(name, 'maxRetries', maxRetries, 0)
  checkState(name, stateSchema, initialState)
  return {
    kind: 'agent',
    name,
    program: `agent:${name}@${version}`,
    model,
    settings: definition.settings ?? {},
    instructions,
    tools: tools as Computed<Tools>,
    subAgents,
    output:
      outputSchema &&
      checkOutput(name, outputSchema, jsonSchemaOf(outputSchema, `agent ${name}: outputSchema`, definition.jsonSchema)),
    stateSchema,
    initialState,
    stopWhen,
    budget: budgetOf(`agent ${name}`, {
      ...definition.budget,
      ...(definition.maxSteps !== undefined && { steps: definition.maxSteps }),
    }),
    trimHistory,
    parallelCalls,
    maxRetries,
  }
}

function subAgentsOf(name: string, given: readonly (Program | SubAgent)[] = []): readonly SubAgent[] {
  if (!Array.isArray(given)) throw new ValidationError(`agent ${name}: subAgents: expected an array`)
  return (given as readonly (Program | SubAgent)[]).map((one, index) =>
    subAgentOf(`agent ${name}: subAgents.${index}`, one),
  )
}

/** All that the model of an agent may call in a step, by its name. */
export async function callablesOf(agent: Agent, context: AgentContext): Promise<ReadonlyMap<string, Callable>> {
  const tools = [...listOf(agent.name, await compute(agent.tools, context)), ...agent.subAgents]
  checkTools(agent.name, tools)
  return new Map(tools.map(tool => [tool.name, tool]))
}

/** What something is here and now. */
export async function compute<T>(computed: Computed<T>, context: AgentContext): Promise<T> {
  return typeof computed === 'function'
    ? (computed as (context: AgentContext) => T | PromiseLike<T>)(context)
    : computed
}
