// Messages, parts and data as an app's types have them. What the app does not name keeps its place beside what it names, under a name that is none of those:
// comparing with a name then tells which it is, and an unknown one is still shown.

import type { Json, Message, Part, StructuredObject, ToolPart, ToolState } from '@millrace/protocol'
import type { NamedTool, OrJson, ToolInput, ToolName, ToolOutput, TypesOf } from './app-types.ts'

declare const unnamed: unique symbol

/** A name that the app does not say: the compiler takes it for none of those that it does say. */
export type Unnamed<Before extends string = ''> = `${Before}${string & { readonly [unnamed]: true }}`

/** As much of a value as has arrived. */
export type Partially<T> = T extends string
  ? string
  : T extends readonly (infer Item)[]
    ? Partially<Item>[]
    : T extends object
      ? string extends keyof T
        ? { -readonly [Key in keyof T]: Partially<T[Key]> }
        : { -readonly [Key in keyof T]?: Partially<T[Key]> }
      : T

type Without<T, Key extends PropertyKey> = { readonly [K in keyof T as K extends Key ? never : K]: T[K] }

interface TypedCall<Name, State, Input, Output> extends Without<ToolPart, 'toolName' | 'state' | 'input' | 'output'> {
  readonly toolName: Name
  readonly state: State
  /** Null where it is large, and lies apart (`blobs`). */
  readonly input?: Input | null
  readonly output?: Output | null
}

/** A call, whose input is whole and fits unless it streams or the call failed. */
type CallOf<Name, Input, Output> =
  | TypedCall<Name, 'input-streaming' | 'output-error', Partially<Input>, Output>
  | TypedCall<Name, Exclude<ToolState, 'input-streaming' | 'output-error'>, Input, Output>

/** A tool call, told apart by `toolName`. */
export type ToolPartOf<A = unknown> = [NamedTool<A>] extends [never]
  ? ToolPart
  :
      | { [Name in NamedTool<A>]: CallOf<Name, Input<A, Name>, Output<A, Name>> }[NamedTool<A>]
      | TypedCall<Unnamed, ToolState, Json, Json>

type Input<A, Name> = ToolInput<A, Name & ToolName<A>>
type Output<A, Name> = ToolOutput<A, Name & ToolName<A>>

type DataName<A> = keyof TypesOf<A>['data'] & string
type DataAt<A, Name> = Name extends keyof TypesOf<A>['data'] ? OrJson<TypesOf<A>['data'][Name]> : Json

/** Anything with data, by the names that the app gives to data. */
type DataAs<A, Whole> = [DataName<A>] extends [never]
  ? Whole
  :
      | { [Name in DataName<A>]: Typed<Whole, `data-${Name}`, DataAt<A, Name>> }[DataName<A>]
      | Typed<Whole, Unnamed<'data-'>, Json>

type Typed<Whole, Type, Data> = Without<Whole, 'type' | 'data'> & { readonly type: Type; readonly data: Data }

/** An application's data, as it came. */
export interface ChatData {
  readonly type: `data-${string}`
  readonly data: Json
  readonly id?: string
  /** Only told, never kept in a message. */
  readonly transient?: boolean
}

/** Data of the application, told apart by `type`. */
export type ChatDataOf<A = unknown> = DataAs<A, ChatData>

type DataPart = Extract<Part, { readonly type: `data-${string}` }>

/** A part that shows the application's data, told apart by `type`. */
export type DataPartOf<A = unknown> = DataAs<A, DataPart>

/** A part of a message, told apart by `type`; a call then by `toolName`. */
export type PartOf<A = unknown> = Exclude<Part, ToolPart | DataPart> | ToolPartOf<A> | DataPartOf<A>

/** A message with the parts of an app. */
export type MessageOf<A = unknown> = Part extends PartOf<A> ? Message : TypedMessage<A>

interface TypedMessage<A> extends Without<Message, 'parts'> {
  readonly parts: readonly PartOf<A>[]
}

type DataType<A> = keyof TypesOf<A>['structured'] & string
type StructuredAt<A, Name> = Name extends keyof TypesOf<A>['structured'] ? OrJson<TypesOf<A>['structured'][Name]> : Json

/** A structured object, told apart by `dataType`; it is whole once it is done. */
export type StructuredOf<A = unknown> = [DataType<A>] extends [never]
  ? StructuredObject
  :
      | { [Name in DataType<A>]: StructuredAs<Name, StructuredAt<A, Name>> }[DataType<A>]
      | Structured<Unnamed, StructuredObject['status'], Json>

type StructuredAs<Name, Data> = Structured<Name, 'streaming', Partially<Data>> | Structured<Name, 'done', Data>

interface Structured<Name, Status, Data> extends Without<StructuredObject, 'dataType' | 'status' | 'data'> {
  readonly dataType: Name
  readonly status: Status
  readonly data: Data
}
