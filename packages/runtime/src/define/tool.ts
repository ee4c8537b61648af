import { MAX_TIMER_MS } from '@millrace/log/internal'
import type { Json, JsonObject } from '@millrace/protocol'
import { checkKeys, checkObject, describeType } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import type { Jsonified } from '../schema/json.ts'
import {
  checkSchema,
  type InputOf,
  type JsonSchema,
  jsonSchemaOf,
  type OutputOf,
  type Schema,
} from '../schema/schema.ts'
import { type Approval, checkApproval } from './approval.ts'
import type { SubAgent } from './sub-agent.ts'

/** Second argument of a tool's `execute`. `Data` maps the names of emitted data to their types. */
export interface ToolContext<State = Json | undefined, Context = Json | undefined, Data = unknown> {
  /** Id of the session's log, unique in the store. `sessionIdOf` gives the id that the owner's clients use. */
  readonly sessionId: string
  /** Id of the run. */
  readonly runId: string
  /** Id of the calling agent in the run. For the root agent it is the run id. */
  readonly agentId: string
  /** Name of the agent's definition. */
  readonly agentType: string
  /** The step of the call. */
  readonly step: number
  /** Id of the call, unique in the session. */
  readonly toolCallId: string
  /** Idempotency key of the call. It stays the same when an interrupted call is retried. */
  readonly idempotencyKey: string
  /** Aborted when the run stops, the call times out, or another process has taken over. */
  readonly abortSignal: AbortSignal
  /** The context that the server passed to this run, with the fields that `resolveContext` added. */
  readonly context: Context
  /** A copy of the current state, including the updates of this call. */
  readonly state: State
  /**
   * Updates the state together with the call's outcome; discarded if the call fails. `update` gets a copy, and returns
   * the new state or changes the copy. It may be called several times, so it must be deterministic.
   */
  updateState(update: (state: State) => State | undefined): void
  /**
   * Emits application data as `data-<name>`; any name but `provider-content`. With an `id`, which is scoped to this
   * call, it replaces the previous data. `transient` data is streamed and not kept in the message. Awaiting the result
   * applies backpressure.
   */
  emit<Name extends DataName<Data>>(
    name: Name,
    data: DataValue<Data, Name>,
    options?: { readonly id?: string; readonly transient?: boolean },
  ): PromiseLike<void>
}

/** Context of a tool that declares its emitted data, by name. Clients get these types. */
export type Emits<Data> = ToolContext<Json | undefined, Json | undefined, Data>

type DataName<Data> = unknown extends Data ? string : keyof Data & string
type DataValue<Data, Name> = unknown extends Data ? Json : Data[Name & keyof Data]

/**
 * Return value of `execute`: the output, or a generator that yields progress and returns the output. If it returns
 * nothing, the last yielded value is the output.
 */
export type Execution<Output> =
  | Output
  | PromiseLike<Output>
  | AsyncGenerator<unknown, Output, void>
  | AsyncGenerator<Output, void, void>
  | Generator<unknown, Output, void>
  | Generator<Output, void, void>

/** The output type of a return value of `execute`. */
export type Executed<Returned> =
  Returned extends AsyncGenerator<infer Yielded, infer Last, never>
    ? FinalOutput<Yielded, Last>
    : Returned extends Generator<infer Yielded, infer Last, never>
      ? FinalOutput<Yielded, Last>
      : Awaited<Returned>

type FinalOutput<Yielded, Last> = [Last] extends [VoidReturn] ? Yielded : Last

/** The return type of a function without a result. `void` itself is not allowed in a union. */
export type VoidReturn = ReturnType<() => void>

/** Options of all tools. */
interface ToolBase<Name extends string, I extends Schema> {
  /** Name by which the model calls it: 1 to 64 letters, digits, `_` and `-`. */
  readonly name: Name
  /** Description for the model. @default none */
  readonly description?: string
  /** Title for users. @default none */
  readonly title?: string
  /** Schema of the input. The model gets it as JSON Schema. */
  readonly inputSchema: I
  /** JSON Schema of the input, for schemas that cannot be converted. @default converted from `inputSchema` */
  readonly jsonSchema?: JsonSchema
  /** Maximum duration of a call, in ms. For a client tool: maximum time to wait for its result. @default no limit */
  readonly timeoutMs?: number
  /**
   * Whether a person has to approve a call before it runs. An approval applies only to the input that was shown.
   * @default false
   */
  readonly approval?: Approval<OutputOf<I>>
  /** Asks the provider to enforce the schema, if it can. @default the default of the provider */
  readonly strict?: boolean
  /** Options for the provider of the model, by its name. @default none */
  readonly providerOptions?: Readonly<Record<string, JsonObject>>
}

/** Options of tools that the server executes. */
interface ServerToolBase<Name extends string, I extends Schema, Finish extends boolean> extends ToolBase<Name, I> {
  /** Whether a client executes the tool. @default false */
  readonly client?: false
  /** Whether the tool's output is the output of the run and ends it. @default false */
  readonly finish?: Finish
}

/** A tool with an `outputSchema`, which validates the output before the model gets it. */
export interface CheckedToolDefinition<
  Name extends string,
  I extends Schema,
  O extends Schema,
  Finish extends boolean,
  State,
  Context,
  Data = unknown,
> extends ServerToolBase<Name, I, Finish> {
  /** Schema of the output. An output that does not match fails the call with `tool_output_invalid`. */
  readonly outputSchema: O
  /** Executes a call with the validated input. Returns the output, or a generator that yields progress. */
  execute(input: OutputOf<I>, context: ToolContext<State, Context, Data>): Execution<InputOf<O>>
}

/** A tool without an `outputSchema`: its output is the return value of `execute`. */
export interface ToolDefinition<
  Name extends string,
  I extends Schema,
  Returned,
  Finish extends boolean,
  State,
  Context,
  Data = unknown,
> extends ServerToolBase<Name, I, Finish> {
  readonly outputSchema?: undefined
  /** Executes a call with the validated input. Returns the output, or a generator that yields progress. */
  execute(input: OutputOf<I>, context: ToolContext<State, Context, Data>): Returned
}

/** A tool that a client executes, such as a browser. The output that the client sends is validated. */
export interface ClientToolDefinition<Name extends string, I extends Schema, O extends Schema | undefined>
  extends ToolBase<Name, I> {
  /** A client executes the tool. */
  readonly client: true
  /** Schema of the output that the client sends. @default any JSON */
  readonly outputSchema?: O
}

/** A tool that the server executes. */
export interface Tool<
  Name extends string = string,
  Input = unknown,
  Output = unknown,
  Finish extends boolean = boolean,
  Data = unknown,
> extends ServerToolBase<Name, Schema, Finish> {
  /** The side that executes a call. */
  readonly executor: 'server'
  /** JSON Schema of the input, for the model. */
  readonly jsonSchema: JsonSchema
  /** Validates the output. @default any JSON */
  readonly outputSchema?: Schema | undefined
  /** Executes a call. */
  execute(input: unknown, context: ToolContext): unknown
  /** Never set. Carries the types of input, output and emitted data. */
  readonly types?: { readonly input: Input; readonly output: Output; readonly data: Data }
}

/** A tool that a client executes. */
export interface ClientTool<Name extends string = string, Input = unknown, Output = unknown>
  extends ToolBase<Name, Schema> {
  /** The side that executes a call. */
  readonly executor: 'client'
  /** JSON Schema of the input, for the model. */
  readonly jsonSchema: JsonSchema
  /** Validates the result that the client sends. @default any JSON */
  readonly outputSchema?: Schema | undefined
  /** Never set. Carries the types of input and output. */
  readonly types?: { readonly input: Input; readonly output: Output }
}

/** A tool that the provider executes, such as its web search. */
export interface ProviderTool<Name extends string = string> {
  /** The side that executes a call. */
  readonly executor: 'provider'
  /** Name under which the model calls the tool. */
  readonly name: Name
  /** The provider's id of the tool. */
  readonly id: `${string}.${string}`
  /** Arguments of the tool, as the provider documents them. */
  readonly args: Readonly<Record<string, unknown>>
}

/** A tool that the server, a client or the provider executes. */
export type AnyTool = Tool | ClientTool | ProviderTool

/** Anything that a model may call: tools and sub-agents. */
export type Callable = AnyTool | SubAgent

/** Input type of a tool call. */
export type ToolInput<T> = T extends { readonly types?: { readonly input: infer Input } } ? Input : unknown
/** Output type of a tool call. */
export type ToolOutput<T> = T extends { readonly types?: { readonly output: infer Output } } ? Output : unknown

const NAME = /^[A-Za-z0-9_-]{1,64}$/

// NoInfer: for a tool that is defined inline, the compiler would infer type parameters from the constraint of the list.

/**
 * Defines a tool that the server executes, or with `client: true` one that a client executes.
 * @throws {ValidationError} if an option is missing, unknown or invalid.
 */
export function tool<
  const Name extends string,
  I extends Schema,
  O extends Schema,
  const Finish extends boolean = false,
  State = Json | undefined,
  Context = Json | undefined,
  Data = unknown,
>(
  definition: CheckedToolDefinition<Name, I, O, Finish, State, Context, Data>,
): Tool<Name, Jsonified<InputOf<I>>, Jsonified<OutputOf<O>>, NoInfer<Finish>, Jsonified<Data>>
export function tool<
  const Name extends string,
  I extends Schema,
  Returned,
  const Finish extends boolean = false,
  State = Json | undefined,
  Context = Json | undefined,
  Data = unknown,
>(
  definition: ToolDefinition<Name, I, Returned, Finish, State, Context, Data>,
): Tool<Name, Jsonified<InputOf<I>>, Jsonified<Executed<Returned>>, NoInfer<Finish>, Jsonified<Data>>
export function tool<const Name extends string, I extends Schema, O extends Schema | undefined = undefined>(
  definition: ClientToolDefinition<Name, I, O>,
): ClientTool<Name, Jsonified<InputOf<I>>, O extends Schema ? Jsonified<InputOf<O>> : Json>
export function tool(definition: AnyToolDefinition): Tool | ClientTool {
  checkObject('tool', definition)
  const { name, inputSchema, outputSchema, timeoutMs, approval, client, execute, ...rest } = definition
  checkToolName(name)
  checkKeys(`tool ${name}`, definition, TOOL_OPTIONS)
  if (client && (execute !== undefined || rest.finish)) {
    const option = execute === undefined ? 'finish' : 'execute'
    throw new ValidationError(
      `tool ${name}: ${option}: not allowed with client: true, because a client executes the tool`,
    )
  }
  if (!client && typeof execute !== 'function') {
    throw new ValidationError(`tool ${name}: execute: expected a function, or client: true`)
  }
  if (timeoutMs !== undefined && timeoutMs !== Number.POSITIVE_INFINITY && !isTimeout(timeoutMs)) {
    const found = typeof timeoutMs === 'number' ? timeoutMs : describeType(timeoutMs)
    throw new ValidationError(
      `tool ${name}: timeoutMs: expected milliseconds above 0 and at most ${MAX_TIMER_MS}, found ${found}`,
    )
  }
  checkApproval(name, approval)
  if (outputSchema !== undefined) checkSchema(outputSchema, `tool ${name}: outputSchema`)
  const jsonSchema = jsonSchemaOf(inputSchema, `tool ${name}: inputSchema`, definition.jsonSchema)
  const { client: _, ...options } = definition
  return { ...options, executor: client ? 'client' : 'server', jsonSchema } as Tool | ClientTool
}

const TOOL_OPTIONS: readonly (keyof Tool | keyof ClientToolDefinition<string, Schema, Schema>)[] = [
  'name',
  'description',
  'title',
  'inputSchema',
  'jsonSchema',
  'outputSchema',
  'execute',
  'client',
  'timeoutMs',
  'approval',
  'strict',
  'finish',
  'providerOptions',
  // A tool may be defined by spreading another one.
  'executor',
]

const isTimeout = (value: unknown): boolean => typeof value === 'number' && value > 0 && value <= MAX_TIMER_MS

interface AnyToolDefinition extends Omit<Tool, 'executor' | 'jsonSchema' | 'client' | 'execute' | 'approval'> {
  readonly jsonSchema?: JsonSchema
  readonly client?: boolean
  readonly approval?: Approval<never>
  execute?(input: never, context: never): unknown
}

/**
 * Defines a tool that the provider executes.
 * @throws {ValidationError} if the name or the id is invalid.
 */
export function providerTool<const Name extends string>(definition: {
  /** Name by which the model calls it: 1 to 64 letters, digits, `_` and `-`. */
  readonly name: Name
  /** The provider's id of the tool, such as `openai.web_search`. */
  readonly id: `${string}.${string}`
  /** Arguments of the tool, as its provider documents them. @default {} */
  readonly args?: Readonly<Record<string, unknown>>
}): ProviderTool<Name> {
  checkObject('providerTool', definition)
  const { name, id } = definition
  checkToolName(name)
  if (typeof id !== 'string' || !/^[^.]+\../.test(id)) {
    const found = typeof id === 'string' ? JSON.stringify(id) : describeType(id)
    throw new ValidationError(
      `tool ${name}: id: expected the provider's id of the tool, such as openai.web_search, found ${found}`,
    )
  }
  return { executor: 'provider', args: {}, ...definition }
}

/** @throws {ValidationError} if a model could not call a tool with this name. */
export function checkToolName(name: unknown): void {
  if (typeof name === 'string' && NAME.test(name)) return
  const found = typeof name === 'string' ? JSON.stringify(name) : describeType(name)
  throw new ValidationError(`tool ${found}: name: expected 1 to 64 letters, digits, _ and -`)
}
