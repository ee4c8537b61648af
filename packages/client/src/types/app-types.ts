// What a client knows of a server by `typeof app`, for the compiler alone. The server is not imported, not for its types either: they are read off a field that is never there.

import type { Json } from '@millrace/protocol'

/** What an app says of itself. Where it says nothing of a kind, everything is possible. */
export interface AppTypes {
  /** The names of its agents, and of its workflows. */
  readonly agents: string
  readonly workflows: string
  /** What calls carry, by the tool's name, and whether a client runs them. */
  readonly tools: object
  /** The application's data, by what stands after `data-`. */
  readonly data: object
  /** The state that agents and clients share; `never`, where nobody says. */
  readonly state: unknown
  /** Structured objects, by their `dataType`. */
  readonly structured: object
}

interface AnyTypes extends AppTypes {
  readonly state: never
}

/** What an app says of itself: give `typeof app`, or nothing. */
export type TypesOf<A> = A extends { readonly '~types'?: infer Types }
  ? Exclude<Types, undefined> extends AppTypes
    ? Exclude<Types, undefined>
    : AnyTypes
  : AnyTypes

/** An app, with what the compiler does not see by itself: tools of `useReason`, and what `useStructuredData` shows. */
export interface AppWith<A, More extends Partial<AppTypes>> {
  readonly '~types'?: {
    readonly [Kind in keyof AppTypes]: Kind extends keyof More
      ? Kind extends 'tools' | 'data' | 'structured'
        ? Omit<TypesOf<A>[Kind], keyof More[Kind]> & More[Kind]
        : TypesOf<A>[Kind] | More[Kind]
      : TypesOf<A>[Kind]
  }
}

/** The names of an app's agents. */
export type AgentName<A = unknown> = TypesOf<A>['agents']

/** The names of an app's workflows. */
export type WorkflowName<A = unknown> = TypesOf<A>['workflows']

/** The tools that an app names; none, where it says nothing of them. */
export type NamedTool<A = unknown> = keyof TypesOf<A>['tools'] & string

/** The names of an app's tools. */
export type ToolName<A = unknown> = [NamedTool<A>] extends [never] ? string : NamedTool<A>

/** What calls of a tool carry as their input: what a client's tool is given. */
export type ToolInput<A, Name extends ToolName<A>> = FieldOf<A, Name, 'input'>

/** What calls of a tool carry as their output: what a client's tool returns. */
export type ToolOutput<A, Name extends ToolName<A>> = FieldOf<A, Name, 'output'>

type FieldOf<A, Name, Field extends string> = Name extends keyof TypesOf<A>['tools']
  ? OrJson<TypesOf<A>['tools'][Name] extends { readonly [F in Field]: infer Value } ? Value : unknown>
  : Json

/** What nothing is known of is some JSON. */
export type OrJson<T> = unknown extends T ? Json : T

/** What a client's tool is given beside its input. */
export interface ClientToolContext {
  readonly toolCallId: string
  readonly toolName: string
  /** Aborted when nobody waits for the result any more. */
  readonly signal: AbortSignal
}

/** Runs a call of a client's tool; what it throws goes to the model as an error. */
export type ClientTool = (input: never, context: ClientToolContext) => unknown

export type ClientTools = { readonly [name: string]: ClientTool }

/** The tools of an app that a client runs. */
export type ClientToolName<A = unknown> = {
  [Name in NamedTool<A>]: true extends ClientOf<TypesOf<A>['tools'][Name]> ? Name : never
}[NamedTool<A>]

type ClientOf<T> = T extends { readonly client: infer Client } ? Client : never

/** What runs the calls of an app's client tools, by their names: as many as this client can. */
export type ClientToolsOf<A = unknown> = [ClientToolName<A>] extends [never]
  ? ClientTools
  : {
      readonly [Name in ClientToolName<A>]?: (
        input: ToolInput<A, Name & ToolName<A>>,
        context: ClientToolContext,
      ) => ToolOutput<A, Name & ToolName<A>> | PromiseLike<ToolOutput<A, Name & ToolName<A>>>
    }

/** The state that agents and clients share; undefined until somebody sets it. */
export type StateOf<A = unknown> = ([TypesOf<A>['state']] extends [never] ? Json : TypesOf<A>['state']) | undefined
