// Types that a client infers from `typeof app`. They come from a phantom field, so that the server package is not imported.

import type { Json } from '@millrace/protocol'

/** Types of an app. The defaults allow everything. */
export interface AppTypes {
  /** Names of agents and of workflows. */
  readonly agents: string
  /** Names of workflows. */
  readonly workflows: string
  /** Input, output and `client` flag of each tool, by name. */
  readonly tools: object
  /** Data of the application, by the name after `data-`. */
  readonly data: object
  /** State shared by agents and clients. `never` if unknown. */
  readonly state: unknown
  /** Structured objects by `dataType`. */
  readonly structured: object
}

interface AnyTypes extends AppTypes {
  readonly state: never
}

/** Types of `typeof app`, or the defaults. */
export type AppTypesOf<A> = A extends { readonly '~types'?: infer Types }
  ? Exclude<Types, undefined> extends AppTypes
    ? Exclude<Types, undefined>
    : AnyTypes
  : AnyTypes

/** Adds types that cannot be inferred: tools of `useReason` and data of `useStructuredData`. */
export interface AppWith<A, More extends Partial<AppTypes>> {
  readonly '~types'?: {
    readonly [Kind in keyof AppTypes]: Kind extends keyof More
      ? Kind extends 'tools' | 'data' | 'structured'
        ? Omit<AppTypesOf<A>[Kind], keyof More[Kind]> & More[Kind]
        : AppTypesOf<A>[Kind] | More[Kind]
      : AppTypesOf<A>[Kind]
  }
}

/** Names of the agents of an app. */
export type AgentName<A = unknown> = AppTypesOf<A>['agents']

/** Names of the workflows of an app. */
export type WorkflowName<A = unknown> = AppTypesOf<A>['workflows']

/** Names of the known tools of an app. `never` if unknown. */
export type NamedTool<A = unknown> = keyof AppTypesOf<A>['tools'] & string

/** Names of the tools of an app. Any string if unknown. */
export type ToolName<A = unknown> = [NamedTool<A>] extends [never] ? string : NamedTool<A>

/** Input of a tool. */
export type ToolInput<A, Name extends ToolName<A>> = FieldOf<A, Name, 'input'>

/** Output of a tool. */
export type ToolOutput<A, Name extends ToolName<A>> = FieldOf<A, Name, 'output'>

type FieldOf<A, Name, Field extends string> = Name extends keyof AppTypesOf<A>['tools']
  ? OrJson<AppTypesOf<A>['tools'][Name] extends { readonly [F in Field]: infer Value } ? Value : unknown>
  : Json

/** Replaces `unknown` by `Json`. */
export type OrJson<T> = unknown extends T ? Json : T

/** Second argument of a client tool. */
export interface ClientToolContext {
  /** Id of the call. */
  readonly toolCallId: string
  /** Name of the called tool. */
  readonly toolName: string
  /** Aborts when the result is no longer needed. */
  readonly signal: AbortSignal
}

/** Runs a call of a client tool. The model gets what it throws as an error. */
export type ClientTool = (input: never, context: ClientToolContext) => unknown

/** Client tools by name. */
export type ClientTools = { readonly [name: string]: ClientTool }

/** Names of the client tools of an app. */
export type ClientToolName<A = unknown> = {
  [Name in NamedTool<A>]: true extends ClientOf<AppTypesOf<A>['tools'][Name]> ? Name : never
}[NamedTool<A>]

type ClientOf<T> = T extends { readonly client: infer Client } ? Client : never

/** Implementations of client tools by name. All are optional. */
export type ClientToolsOf<A = unknown> = [ClientToolName<A>] extends [never]
  ? ClientTools
  : {
      readonly [Name in ClientToolName<A>]?: (
        input: ToolInput<A, Name & ToolName<A>>,
        context: ClientToolContext,
      ) => ToolOutput<A, Name & ToolName<A>> | PromiseLike<ToolOutput<A, Name & ToolName<A>>>
    }

/** State shared by agents and clients. Undefined until it is set. */
export type StateOf<A = unknown> =
  | ([AppTypesOf<A>['state']] extends [never] ? Json : AppTypesOf<A>['state'])
  | undefined
