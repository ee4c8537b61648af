import type { Json, JsonObject } from '@millrace/protocol'
import { ValidationError } from '../error/error.ts'
import { type InputOf, type JsonSchema, jsonSchemaOf, type OutputOf, type Schema } from '../schema/schema.ts'

/** What a tool's code is given beside its input. */
export interface ToolContext<State = Json | undefined, Context = Json | undefined> {
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
  /** The state as it is now, with this call's own updates. */
  readonly state: State
  /** Changes the state, with the call's outcome: applied to the state as it then is, or not at all where the call fails. */
  updateState(update: (state: State) => State | undefined): void
  /** Shows an application's data as `data-<name>`; under an id, which is this call's own, it replaces what it showed before. */
  emit(name: string, data: Json, options?: { readonly id?: string; readonly transient?: boolean }): void
}

/** What a tool's code may return: the output, or progress after progress and at last the output. */
export type Execution<Output> = Output | PromiseLike<Output> | AsyncGenerator<Output, unknown, void>

export interface ToolDefinition<Name extends string, I extends Schema, Output> {
  readonly name: Name
  /** What it does, for the model. */
  readonly description?: string
  /** A name for people. */
  readonly title?: string
  readonly input: I
  /** The JSON Schema of the input, where `input` cannot say it by itself. */
  readonly jsonSchema?: JsonSchema
  readonly output?: Schema<unknown, Output>
  /** The longest time that a call may take, in milliseconds. */
  readonly timeout?: number
  /** Whether its output is the run's own, which ends with it. */
  readonly finish?: boolean
  /** Asks providers to keep to the schema, where they can. */
  readonly strict?: boolean
  readonly providerOptions?: Readonly<Record<string, JsonObject>>
  execute(input: OutputOf<I>, context: ToolContext): Execution<Output>
}

/** Something that a model may call, run by the server. */
export interface Tool<Name extends string = string, Input = unknown, Output = unknown>
  extends Omit<ToolDefinition<Name, Schema, Output>, 'execute' | 'input' | 'jsonSchema'> {
  readonly executor: 'server'
  readonly input: Schema<Input>
  readonly jsonSchema: JsonSchema
  execute(input: unknown, context: ToolContext): Execution<Output>
}

/** A tool that the provider runs, such as its own web search. */
export interface ProviderTool<Name extends string = string> {
  readonly executor: 'provider'
  readonly name: Name
  /** As the provider names it. */
  readonly id: `${string}.${string}`
  readonly args: Readonly<Record<string, unknown>>
}

export type AnyTool = Tool | ProviderTool

const NAME = /^[A-Za-z0-9_-]{1,64}$/

/** Defines a tool that the server runs; throws where no model could call it. */
export function tool<const Name extends string, I extends Schema, Output>(
  definition: ToolDefinition<Name, I, Output>,
): Tool<Name, InputOf<I>, Output> {
  const { name, input, jsonSchema, timeout } = definition
  checkName(name)
  if (timeout !== undefined && !(timeout > 0)) {
    throw new ValidationError(`tool ${name}: timeout: expected milliseconds, found ${timeout}`)
  }
  return {
    ...definition,
    executor: 'server',
    input: input as Schema<InputOf<I>>,
    jsonSchema: jsonSchemaOf(input, `tool ${name}`, jsonSchema),
  } as Tool<Name, InputOf<I>, Output>
}

/** Defines a tool that the provider runs. */
export function providerTool<const Name extends string>(definition: {
  readonly name: Name
  readonly id: `${string}.${string}`
  readonly args?: Readonly<Record<string, unknown>>
}): ProviderTool<Name> {
  checkName(definition.name)
  return { executor: 'provider', args: {}, ...definition }
}

function checkName(name: string): void {
  if (NAME.test(name)) return
  throw new ValidationError(`tool ${JSON.stringify(name)}: expected a name of 1 to 64 letters, digits, _ and -`)
}
