import type { Json, JsonObject } from '@millrace/protocol'
import { MAX_TIMER_MS } from '../async/max-timer-ms.ts'
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

/** What a tool's code is given beside its input. `Data` is what it shows, by name: anything, if nothing is said. */
export interface ToolContext<State = Json | undefined, Context = Json | undefined, Data = unknown> {
  readonly sessionId: string
  readonly runId: string
  readonly agentId: string
  readonly agentType: string
  readonly step: number
  readonly toolCallId: string
  /** The same whenever this call is tried again after it was cut off. */
  readonly idempotencyKey: string
  /** Aborted when the run stops, the call takes too long, or another process has taken over. */
  readonly abortSignal: AbortSignal
  /** What the server's own code gave this run, with what `resolveContext` added. */
  readonly context: Context
  /** The state as it is now, with this call's own updates: a copy. */
  readonly state: State
  /**
   * Changes the state, with the call's outcome: applied to the state as it then is, or not at all where the call fails. The update is given a copy, and returns
   * the new state or writes into the copy; it may be asked more than once, and says the same each time.
   */
  updateState(update: (state: State) => State | undefined): void
  /**
   * Shows an application's data as `data-<name>`, of any name but `provider-content`; under an id, which is this call's own, it replaces what it showed before. Awaiting it waits for room, where much
   * is shown.
   */
  emit<Name extends ShownName<Data>>(
    name: Name,
    data: ShownData<Data, Name>,
    options?: { readonly id?: string; readonly transient?: boolean },
  ): PromiseLike<void>
}

/** What a tool's code is given that says what data it shows, by name: clients know it by these types. */
export type Emits<Data> = ToolContext<Json | undefined, Json | undefined, Data>

type ShownName<Data> = unknown extends Data ? string : keyof Data & string
type ShownData<Data, Name> = unknown extends Data ? Json : Data[Name & keyof Data]

/** What a tool's code may return: the output, or progress after progress and at last the output, which may be the last progress. */
export type Execution<Output> =
  | Output
  | PromiseLike<Output>
  | AsyncGenerator<unknown, Output, void>
  | AsyncGenerator<Output, void, void>
  | Generator<unknown, Output, void>
  | Generator<Output, void, void>

/** The output of what a tool's code returned. */
export type Executed<Returned> =
  Returned extends AsyncGenerator<infer Yielded, infer Last, never>
    ? LastOf<Yielded, Last>
    : Returned extends Generator<infer Yielded, infer Last, never>
      ? LastOf<Yielded, Last>
      : Awaited<Returned>

type LastOf<Yielded, Last> = [Last] extends [VoidReturn] ? Yielded : Last

/** The type of a function that returns nothing; `void` itself is no member of a union. */
export type VoidReturn = ReturnType<() => void>

interface Described<Name extends string, I extends Schema> {
  readonly name: Name
  /** What it does, for the model. */
  readonly description?: string
  /** A name for people. */
  readonly title?: string
  readonly inputSchema: I
  /** The JSON Schema of the input, for schemas that cannot produce one. */
  readonly jsonSchema?: JsonSchema
  /** The longest time that a call may take, in milliseconds; none, if nothing is said. Of a client's tool: how long its result is waited for. */
  readonly timeout?: number
  /** Whether a person has to approve a call before it runs: of the exact input that is shown, and of no other. */
  readonly approval?: Approval<OutputOf<I>>
  /** Asks providers to keep to the schema, where they can. */
  readonly strict?: boolean
  readonly providerOptions?: Readonly<Record<string, JsonObject>>
}

interface Served<Name extends string, I extends Schema, Finish extends boolean> extends Described<Name, I> {
  readonly client?: false
  /** Whether its output is the run's own, which ends with it. */
  readonly finish?: Finish
}

/** A tool whose output is checked before anybody sees it. */
export interface CheckedToolDefinition<
  Name extends string,
  I extends Schema,
  O extends Schema,
  Finish extends boolean,
  State,
  Context,
  Data = unknown,
> extends Served<Name, I, Finish> {
  readonly outputSchema: O
  execute(input: OutputOf<I>, context: ToolContext<State, Context, Data>): Execution<InputOf<O>>
}

/** A tool whose output is what its code returns. */
export interface ToolDefinition<
  Name extends string,
  I extends Schema,
  Returned,
  Finish extends boolean,
  State,
  Context,
  Data = unknown,
> extends Served<Name, I, Finish> {
  readonly outputSchema?: undefined
  execute(input: OutputOf<I>, context: ToolContext<State, Context, Data>): Returned
}

/** A tool that a client runs, such as a browser: what it sends as the output is checked against the schema before it counts. */
export interface ClientToolDefinition<Name extends string, I extends Schema, O extends Schema | undefined>
  extends Described<Name, I> {
  readonly client: true
  readonly outputSchema?: O
}

/** Something that a model may call, run by the server. */
export interface Tool<
  Name extends string = string,
  Input = unknown,
  Output = unknown,
  Finish extends boolean = boolean,
  Data = unknown,
> extends Served<Name, Schema, Finish> {
  readonly executor: 'server'
  readonly jsonSchema: JsonSchema
  readonly outputSchema?: Schema | undefined
  execute(input: unknown, context: ToolContext): unknown
  /** Never there: what a call carries and shows, for the compiler. */
  readonly types?: { readonly input: Input; readonly output: Output; readonly data: Data }
}

/** Something that a model may call, run by a client. */
export interface ClientTool<Name extends string = string, Input = unknown, Output = unknown>
  extends Described<Name, Schema> {
  readonly executor: 'client'
  readonly jsonSchema: JsonSchema
  readonly outputSchema?: Schema | undefined
  /** Never there: what a call carries, for the compiler. */
  readonly types?: { readonly input: Input; readonly output: Output }
}

/** A tool that the provider runs, such as its own web search. */
export interface ProviderTool<Name extends string = string> {
  readonly executor: 'provider'
  readonly name: Name
  /** As the provider names it. */
  readonly id: `${string}.${string}`
  readonly args: Readonly<Record<string, unknown>>
}

export type AnyTool = Tool | ClientTool | ProviderTool

/** What a model may call: the tools of an agent, and its sub-agents. */
export type Callable = AnyTool | SubAgent

/** What a call of a tool carries as its input. */
export type ToolInput<T> = T extends { readonly types?: { readonly input: infer Input } } ? Input : unknown
/** What a call of a tool carries as its output. */
export type ToolOutput<T> = T extends { readonly types?: { readonly output: infer Output } } ? Output : unknown

const NAME = /^[A-Za-z0-9_-]{1,64}$/

// Where a tool is defined in place, the compiler would take what is not said from what any tool may be: hence NoInfer.

/** Defines a tool that the server runs, or with `client: true` one that a client runs; throws where no model could call it. */
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
export function tool(definition: AnyDefinition): Tool | ClientTool {
  checkObject('tool', definition)
  const { name, inputSchema, outputSchema, timeout, approval, client, execute, ...rest } = definition
  checkToolName(name)
  checkKeys(`tool ${name}`, definition, TOOL_OPTIONS)
  if (client && (execute !== undefined || rest.finish)) {
    const what = execute === undefined ? 'finish' : 'execute'
    throw new ValidationError(`tool ${name}: ${what}: a client runs it, and its server cannot`)
  }
  if (!client && typeof execute !== 'function') {
    throw new ValidationError(`tool ${name}: execute: expected a function, or client: true`)
  }
  if (timeout !== undefined && timeout !== Number.POSITIVE_INFINITY && !isTimeout(timeout)) {
    const found = typeof timeout === 'number' ? timeout : describeType(timeout)
    throw new ValidationError(
      `tool ${name}: timeout: expected milliseconds from above 0 to ${MAX_TIMER_MS}, found ${found}`,
    )
  }
  checkApproval(name, approval)
  if (outputSchema !== undefined) checkSchema(outputSchema, `tool ${name}: outputSchema`)
  const jsonSchema = jsonSchemaOf(inputSchema, `tool ${name}: inputSchema`, definition.jsonSchema)
  const { client: _, ...own } = definition
  return { ...own, executor: client ? 'client' : 'server', jsonSchema } as Tool | ClientTool
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
  'timeout',
  'approval',
  'strict',
  'finish',
  'providerOptions',
  // A tool may be defined from another one.
  'executor',
]

const isTimeout = (value: unknown): boolean => typeof value === 'number' && value > 0 && value <= MAX_TIMER_MS

interface AnyDefinition extends Omit<Tool, 'executor' | 'jsonSchema' | 'client' | 'execute' | 'approval'> {
  readonly jsonSchema?: JsonSchema
  readonly client?: boolean
  readonly approval?: Approval<never>
  execute?(input: never, context: never): unknown
}

/** Defines a tool that the provider runs; throws where no provider could know it. */
export function providerTool<const Name extends string>(definition: {
  readonly name: Name
  readonly id: `${string}.${string}`
  readonly args?: Readonly<Record<string, unknown>>
}): ProviderTool<Name> {
  checkObject('providerTool', definition)
  const { name, id } = definition
  checkToolName(name)
  if (typeof id !== 'string' || !/^[^.]+\../.test(id)) {
    const found = typeof id === 'string' ? JSON.stringify(id) : describeType(id)
    throw new ValidationError(`tool ${name}: id: expected the provider's own, as in openai.web_search, found ${found}`)
  }
  return { executor: 'provider', args: {}, ...definition }
}

/** Throws where a name is none that a model could call. */
export function checkToolName(name: unknown): void {
  if (typeof name === 'string' && NAME.test(name)) return
  const found = typeof name === 'string' ? JSON.stringify(name) : describeType(name)
  throw new ValidationError(`tool ${found}: name: expected 1 to 64 letters, digits, _ and -`)
}
