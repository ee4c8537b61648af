// Messages, parts and data with the types of an app. Unknown names stay in the unions as `UndeclaredName`, so that a comparison with a known
// name narrows the type, and a fallback for unknown ones still compiles.

import type { Json, Message, Part, StructuredObject, ToolPart, ToolState } from '@millrace/protocol'
import type { AppTypesOf, NamedTool, OrJson, ToolInput, ToolName, ToolOutput } from './app-types.ts'

declare const unnamed: unique symbol

/** A name that the app does not declare. It overlaps with no declared name. */
export type UndeclaredName<Prefix extends string = ''> = `${Prefix}${string & { readonly [unnamed]: true }}`

/** Part of a value while it streams. */
export type DeepPartial<T> = T extends string
  ? string
  : T extends readonly (infer Item)[]
    ? DeepPartial<Item>[]
    : T extends object
      ? string extends keyof T
        ? { -readonly [Key in keyof T]: DeepPartial<T[Key]> }
        : { -readonly [Key in keyof T]?: DeepPartial<T[Key]> }
      : T

type Without<T, Key extends PropertyKey> = { readonly [K in keyof T as K extends Key ? never : K]: T[K] }

interface TypedCall<Name, State, Input, Output> extends Without<ToolPart, 'toolName' | 'state' | 'input' | 'output'> {
  readonly toolName: Name
  readonly state: State
  /** Null if it is large and stored in `blobs`. */
  readonly input?: Input | null
  readonly output?: Output | null
}

/** A tool call. Its input is complete and valid unless it streams or the call failed. */
type CallOf<Name, Input, Output> =
  | TypedCall<Name, 'input-streaming' | 'output-error', DeepPartial<Input>, Output>
  | TypedCall<Name, Exclude<ToolState, 'input-streaming' | 'output-error'>, Input, Output>

/** A tool call, discriminated by `toolName`. */
export type ToolPartOf<A = unknown> = [NamedTool<A>] extends [never]
  ? ToolPart
  :
      | { [Name in NamedTool<A>]: CallOf<Name, Input<A, Name>, Output<A, Name>> }[NamedTool<A>]
      | TypedCall<UndeclaredName, ToolState, Json, Json>

type Input<A, Name> = ToolInput<A, Name & ToolName<A>>
type Output<A, Name> = ToolOutput<A, Name & ToolName<A>>

type DataName<A> = keyof AppTypesOf<A>['data'] & string
type DataAt<A, Name> = Name extends keyof AppTypesOf<A>['data'] ? OrJson<AppTypesOf<A>['data'][Name]> : Json

/** `Base` with the type of `data` for each data name of the app. */
type DataAs<A, Base> = [DataName<A>] extends [never]
  ? Base
  :
      | { [Name in DataName<A>]: WithData<Base, `data-${Name}`, DataAt<A, Name>> }[DataName<A>]
      | WithData<Base, UndeclaredName<'data-'>, Json>

type WithData<Base, Type, Data> = Without<Base, 'type' | 'data'> & { readonly type: Type; readonly data: Data }

/** A data chunk of the application. */
export interface ChatData {
  /** `data-` and the application's name of the data. */
  readonly type: `data-${string}`
  /** The data, as the server emitted it. */
  readonly data: Json
  /** A later chunk with the same type and id replaces the data. */
  readonly id?: string
  /** Whether it goes only to `onData`, and to no message. */
  readonly transient?: boolean
}

/** A data chunk of the application, discriminated by `type`. */
export type ChatDataOf<A = unknown> = DataAs<A, ChatData>

type DataPart = Extract<Part, { readonly type: `data-${string}` }>

/** A part with data of the application, discriminated by `type`. */
export type DataPartOf<A = unknown> = DataAs<A, DataPart>

/** A part of a message, discriminated by `type`, tool calls also by `toolName`. */
export type PartOf<A = unknown> = Exclude<Part, ToolPart | DataPart> | ToolPartOf<A> | DataPartOf<A>

/** A message with typed parts. */
export type MessageOf<A = unknown> = Part extends PartOf<A> ? Message : TypedMessage<A>

interface TypedMessage<A> extends Without<Message, 'parts'> {
  readonly parts: readonly PartOf<A>[]
}

type DataType<A> = keyof AppTypesOf<A>['structured'] & string
type StructuredAt<A, Name> = Name extends keyof AppTypesOf<A>['structured']
  ? OrJson<AppTypesOf<A>['structured'][Name]>
  : Json

/** A structured object, discriminated by `dataType`. It is complete when `status` is `done`. */
export type StructuredOf<A = unknown> = [DataType<A>] extends [never]
  ? StructuredObject
  :
      | { [Name in DataType<A>]: StructuredAs<Name, StructuredAt<A, Name>> }[DataType<A>]
      | Structured<UndeclaredName, StructuredObject['status'], Json>

type StructuredAs<Name, Data> = Structured<Name, 'streaming', DeepPartial<Data>> | Structured<Name, 'done', Data>

interface Structured<Name, Status, Data> extends Without<StructuredObject, 'dataType' | 'status' | 'data'> {
  readonly dataType: Name
  readonly status: Status
  readonly data: Data
}
