// The types that clients infer from a server: the names of its programs, and the types of tools, data, state and structured outputs.

import type { Agent, OutputOfAgent, SubAgent, ToolInput, ToolOutput, Workflow, WorkflowOutput } from '@millrace/runtime'

/** What clients see of a server with these programs. Programs that nodes call in code are not visible to the compiler. */
export interface AppClientTypes<Agents extends readonly Agent[], Workflows extends readonly Workflow[]> {
  /** Names of the agents. */
  readonly agents: Agents[number]['name']
  /** Names of the workflows. */
  readonly workflows: Workflows[number]['name']
  /** Input and output of each tool, by name. */
  readonly tools: ToolTypes<CalledIn<Within<Agents[number] | Workflows[number]>>>
  /** Data that the tools emit, by the name after `data-`. */
  readonly data: DataTypes<DataIn<CalledIn<Within<Agents[number] | Workflows[number]>>>>
  /** State of the session. */
  readonly state: StateIn<Within<Agents[number] | Workflows[number]>>
  /** Outputs of agents with an `outputSchema`, by `dataType`. */
  readonly structured: OutputTypes<Within<Agents[number] | Workflows[number]>>
}

/** The callees of a program: its tools, sub-agents and programs; for a workflow, the agents of its nodes. */
type Called<P> = P extends { readonly types?: { readonly client: { readonly called: infer C } } } ? C : never

/** The program of a sub-agent, or the callee itself. */
type ProgramOf<C> = C extends SubAgent<string, unknown, infer P> ? P : C

/** A program and, recursively, all programs that it calls. */
type Within<P> = P extends unknown ? P | Within<ProgramOf<Called<P>>> : never

/** The tools and programs that models may call. */
type CalledIn<P> = P extends Agent<string, infer Tools> ? Tools[number] | Called<P> : never

/** A name, if it is a literal type. */
type NameOf<T> = T extends { readonly name: infer Name extends string } ? (string extends Name ? never : Name) : never

type ToolTypes<C> = {
  readonly [T in C as NameOf<T>]: {
    readonly input: CallInput<T>
    readonly output: CallOutput<T>
    readonly client: T extends { readonly executor: 'client' } ? true : false
  }
}

type CallInput<T> = T extends Agent
  ? { readonly prompt: string }
  : T extends { readonly types?: { readonly client: { readonly callInput: infer Input } } }
    ? Input
    : ToolInput<T>

type CallOutput<T> =
  T extends SubAgent<string, unknown, infer P>
    ? CallOutput<P>
    : T extends Agent
      ? OutputOrText<OutputOfAgent<T>>
      : T extends Workflow
        ? OutputOrText<WorkflowOutput<T>>
        : ToolResult<ToolOutput<T>>

/** The output of a tool that returns nothing is null. */
type ToolResult<Output> = [Output] extends [never] ? null : Output extends undefined ? null : Output

/** A program without an output returns its text. */
type OutputOrText<Output> = Output extends undefined ? string : Output

/** The data types that tools declare. */
type DataIn<T> = T extends { readonly types?: { readonly data: infer Data } }
  ? unknown extends Data
    ? never
    : Data
  : never

type DataTypes<Data> = { readonly [Name in KeyOf<Data>]: ValueAt<Data, Name> }

type KeyOf<T> = T extends unknown ? keyof T & string : never
type ValueAt<T, Name> = T extends unknown ? (Name extends keyof T ? T[Name] : never) : never

type StateIn<P> = P extends { readonly types?: { readonly client: { readonly state: infer State } } }
  ? unknown extends State
    ? never
    : State
  : never

/** Structured outputs by agent name. */
type OutputTypes<P> = { readonly [A in Extract<P, Agent> as OutputName<A>]: OutputOfAgent<A> }

type OutputName<A> = OutputOfAgent<A> extends undefined ? never : unknown extends OutputOfAgent<A> ? never : NameOf<A>
