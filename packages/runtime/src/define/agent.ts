import type { Json, JsonObject, Message } from '@millrace/protocol'
import { checkKeys } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import { asV4, type Model, type ModelSettings } from '../model/model.ts'
import { type ModelLimits, modelLimitsOf } from '../model/model-limits.ts'
import type { Jsonified } from '../schema/json.ts'
import type { InputOf, JsonSchema, OutputOf, Schema } from '../schema/schema.ts'
import {
  checkCount,
  checkFunctions,
  checkName,
  checkState,
  checkToolList,
  checkTools,
  outputJsonSchemaOf,
} from './agent-checks.ts'
import { type Budget, budgetOf } from './budget.ts'
import type { Program } from './program.ts'
import { type SubAgent, subAgentOf } from './sub-agent.ts'
import type { AnyTool, Callable, Tool } from './tool.ts'

/** Context of the functions in an agent definition, such as `instructions` and `stopWhen`. */
export interface AgentContext<State = Json | undefined, Context = Json | undefined> {
  /** Id of the session's log, unique in the store. `sessionIdOf` gives the id that the owner's clients use. */
  readonly sessionId: string
  /** Id of the run. */
  readonly runId: string
  /** Id of the agent in the run. For the root agent it is the run id. */
  readonly agentId: string
  /** Name of the agent's definition. */
  readonly agentType: string
  /** The step that starts next, runs, or has just ended. */
  readonly step: number
  /** The context that the server passed to this run, with the fields that `resolveContext` added. */
  readonly context: Context
  /** A copy of the session's state. */
  readonly state: State
  /** The data that the client sent with its request. Untrusted input. */
  readonly data: Json | undefined
  /** Aborted when the run stops, or when another process has taken over. */
  readonly abortSignal: AbortSignal
}

/**
 * A value, or a function that computes it. The function is called in each step, and again when a step resumes after a
 * pause or in another process. Tools with open calls must still be in its result then.
 */
export type Computed<T, State = Json | undefined, Context = Json | undefined> =
  | T
  | ((context: AgentContext<State, Context>) => T | PromiseLike<T>)

/** A step that has ended. */
export interface FinishedStep<ToolName extends string = string, State = Json | undefined, Context = Json | undefined>
  extends AgentContext<State, Context> {
  /** The agent's message so far. */
  readonly message: Message
  /** The names of the tools called in this step. A model may call unknown names. */
  readonly toolNames: readonly (ToolName | (string & {}))[]
}

/** Type of the session's state: the input type of its schema, before any transform. */
export type StateOf<S extends Schema | undefined> = S extends Schema ? InputOf<S> | undefined : Json | undefined

/** Options of `agent`. */
export interface AgentDefinition<
  Name extends string,
  Tools extends readonly AnyTool[],
  O extends Schema | undefined,
  S extends Schema | undefined,
  State = StateOf<S>,
  Context = Json | undefined,
  Subs extends readonly (Program | SubAgent)[] = readonly (Program | SubAgent)[],
> {
  /** Name of the agent in runs and for clients: 1 to 64 letters, digits, `_`, `.` and `-`. */
  readonly name: Name
  /** Version of the program. A worker takes only runs of a version that it has. @default '1' */
  readonly version?: string
  /** The model, or a function that selects one for each step. */
  readonly model: Computed<Model, State, Context>
  /** Settings of the model calls, such as `temperature`. @default {} */
  readonly settings?: ModelSettings
  /** System prompt, or a function that computes it for each step. @default none */
  readonly instructions?: Computed<string | undefined, State, Context>
  /** Tools that the model may call, or a function that computes them for each step. @default [] */
  readonly tools?: Computed<Tools, State, Context>
  /** Agents and workflows that the model may call like tools, either directly or wrapped by `subAgent()`. @default [] */
  readonly subAgents?: Subs
  /** Schema of the run's output. With it the model answers in JSON. @default the answer is text */
  readonly outputSchema?: O
  /** JSON Schema of the output, for schemas that cannot be converted. @default converted from `outputSchema` */
  readonly jsonSchema?: JsonSchema
  /** Schema of the session's state. @default any JSON */
  readonly stateSchema?: S
  /** Initial state of a new session. @default no state */
  readonly initialState?: S extends Schema ? InputOf<S> : JsonObject
  /** Ends the run after a step if it returns true, even if the model would continue. @default never */
  readonly stopWhen?: (step: FinishedStep<Tools[number]['name'], State, Context>) => boolean | PromiseLike<boolean>
  /** Maximum number of model calls in a run. @default 50 */
  readonly maxSteps?: number
  /** Limits of tokens, bytes, and time in ms. @default { tokens: 2_000_000, bytes: 268_435_456, timeMs: 3_600_000 } */
  readonly budget?: Partial<Omit<Budget, 'steps'>>
  /** Selects the messages of a long history to send to the model. @default all messages */
  readonly trimHistory?: (
    messages: readonly Message[],
    context: AgentContext<State, Context>,
  ) => readonly Message[] | PromiseLike<readonly Message[]>
  /** Maximum number of tool calls of a step that run at the same time. @default 8 */
  readonly parallelCalls?: number
  /** Maximum number of retries of a failed model call. @default 3 */
  readonly maxRetries?: number
  /**
   * Limits of one model answer: how long the provider may be silent, and how much it may send. A function sets them for
   * each step.
   * @default the limits of the runtime
   */
  readonly modelLimits?: Computed<Partial<ModelLimits>, State, Context>
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
  'modelLimits',
]

/** A program: a model with instructions, tools and limits. */
export interface Agent<
  Name extends string = string,
  Tools extends readonly AnyTool[] = readonly AnyTool[],
  Output = unknown,
  ClientTypes = unknown,
> {
  /** Kind of the program. */
  readonly kind: 'agent'
  /** Name of the agent. */
  readonly name: Name
  /** `agent:name@version`. */
  readonly program: string
  /** The model, or a function that selects one for each step. */
  readonly model: Computed<Model>
  /** Settings of the model calls. Empty by default. */
  readonly settings: ModelSettings
  /** The system message, or a function that returns it. */
  readonly instructions: Computed<string | undefined>
  /** The tools, or a function that returns them. */
  readonly tools: Computed<Tools>
  /** The agents and workflows that it may call. */
  readonly subAgents: readonly SubAgent[]
  /** Schema of the output. Undefined for text. */
  readonly outputSchema: Schema | undefined
  /** JSON Schema of the output. */
  readonly jsonSchema: JsonSchema | undefined
  /** Schema of the session's state. Undefined for any JSON. */
  readonly stateSchema: Schema | undefined
  /** Initial state of a new session. */
  readonly initialState: JsonObject | undefined
  /** Ends the run after a step if it returns true. */
  readonly stopWhen: ((step: FinishedStep) => boolean | PromiseLike<boolean>) | undefined
  /** Limits of a run: tokens, bytes, time in ms and model calls. */
  readonly budget: Budget
  /** Selects the messages that are sent to the model. */
  readonly trimHistory: AgentDefinition<Name, Tools, undefined, undefined>['trimHistory']
  /** Maximum number of tool calls of a step that run at the same time. */
  readonly parallelCalls: number
  /** Maximum number of retries of a failed model call. */
  readonly maxRetries: number
  /** Limits of one model answer, or a function that returns them. Others are those of the runtime. */
  readonly modelLimits: Computed<Partial<ModelLimits>>
  /** Never set. Carries the output type and the types that clients see. */
  readonly types?: { readonly output: Output; readonly client: ClientTypes }
}

/** Types that clients see of an agent besides its tools: the state, and the programs that it calls. */
export interface AgentClientTypes<S extends Schema | undefined, Called> {
  /** Type of the session's state. */
  readonly state: S extends Schema ? Jsonified<InputOf<S>> : unknown
  /** Union of the programs that the agent calls. */
  readonly called: Called
}

/** Output type of a run: the value of `outputSchema` or of a finishing tool, else undefined. */
export type AgentOutput<O extends Schema | undefined, Tools extends readonly AnyTool[] = readonly []> = OrUndefined<
  (O extends Schema ? Jsonified<OutputOf<O>> : never) | FinishOutput<Tools[number]>
>

type OrUndefined<T> = [T] extends [never] ? undefined : T

type FinishOutput<T> =
  T extends Tool<string, unknown, infer Output, infer Finish> ? (true extends Finish ? Output : never) : never

/** The names of an agent's tools. */
export type ToolNames<A> = A extends Agent<string, infer Tools> ? Tools[number]['name'] : never

/** Type of `output` in `run.result()` of an agent. */
export type OutputOfAgent<A> = A extends Agent<string, readonly AnyTool[], infer Output> ? Output : unknown

/** Default of `parallelCalls`. */
export const DEFAULT_PARALLEL_CALLS = 8
/** Default of `maxRetries`. */
export const DEFAULT_MAX_RETRIES = 3

/**
 * Defines an agent.
 * @throws {ValidationError} if an option is missing, unknown or invalid.
 */
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
): Agent<Name, Tools, AgentOutput<O, Tools>, AgentClientTypes<S, Subs[number]>> {
  const { name, version = '1', tools = [], outputSchema } = definition
  // The types of state and context are known only to the agent's own code.
  const {
    model,
    instructions,
    stateSchema,
    initialState,
    stopWhen,
    trimHistory,
    modelLimits = {},
  } = definition as unknown as Agent
  const { parallelCalls = DEFAULT_PARALLEL_CALLS, maxRetries = DEFAULT_MAX_RETRIES } = definition
  checkName('agent', name, 'name', name)
  checkName('agent', name, 'version', version)
  checkKeys(`agent ${name}`, definition, AGENT_OPTIONS)
  if (typeof model !== 'function') asV4(model, `agent ${name}: model`)
  const subAgents = subAgentsOf(name, definition.subAgents)
  checkTools(name, typeof tools === 'function' ? subAgents : [...checkToolList(name, tools), ...subAgents])
  checkFunctions(name, { stopWhen, trimHistory })
  checkCount(name, 'parallelCalls', parallelCalls, 1)
  checkCount(name, 'maxRetries', maxRetries, 0)
  checkState(name, stateSchema, initialState)
  if (typeof modelLimits !== 'function') modelLimitsOf(`agent ${name}: modelLimits`, modelLimits)
  return {
    kind: 'agent',
    name,
    program: `agent:${name}@${version}`,
    model,
    settings: definition.settings ?? {},
    instructions,
    tools: tools as Computed<Tools>,
    subAgents,
    outputSchema,
    jsonSchema: outputSchema && outputJsonSchemaOf(name, outputSchema, definition.jsonSchema),
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
    modelLimits,
  }
}

function subAgentsOf(name: string, programs: readonly (Program | SubAgent)[] = []): readonly SubAgent[] {
  if (!Array.isArray(programs)) throw new ValidationError(`agent ${name}: subAgents: expected an array`)
  return (programs as readonly (Program | SubAgent)[]).map((program, index) =>
    subAgentOf(`agent ${name}: subAgents.${index}`, program),
  )
}

/** All tools and sub-agents that the model may call in a step, by name. @throws {ValidationError} if computed tools are invalid. */
export async function callablesOf(agent: Agent, context: AgentContext): Promise<ReadonlyMap<string, Callable>> {
  const tools = [...checkToolList(agent.name, await compute(agent.tools, context)), ...agent.subAgents]
  checkTools(agent.name, tools)
  return new Map(tools.map(tool => [tool.name, tool]))
}

/** Evaluates a computed value. */
export async function compute<T>(computed: Computed<T>, context: AgentContext): Promise<T> {
  return typeof computed === 'function'
    ? (computed as (context: AgentContext) => T | PromiseLike<T>)(context)
    : computed
}
