// The TypeScript types that derive from the table in catalogue.ts, where fields are added. guards.ts has the guards.

import type { Json, JsonObject } from '../json/json.ts'
import type { catalogue, dataRow } from './catalogue.ts'
import type { types } from './field-types.ts'

type Basic = {
  string: string
  number: number
  count: number
  sequence: number
  boolean: boolean
  true: true
  '1': 1
  json: Json
  object: JsonObject
}
type Types = typeof types
type Flat<T> = { [K in keyof T]: T[K] }

type TypeOf<Name extends string> = Name extends `${infer Item}[]`
  ? TypeOf<Item>[]
  : Name extends `${infer Item}{}`
    ? { [key: string]: TypeOf<Item> }
    : Name extends keyof Basic
      ? Basic[Name]
      : Name extends keyof Types
        ? NamedTypeOf<Types[Name]>
        : never

type NamedTypeOf<T> = T extends readonly (infer Value)[]
  ? Value
  : T extends { on: infer On extends string; kinds: infer Kinds }
    ? Variants<On, Kinds>
    : T extends { fields: infer F }
      ? FieldsOf<F>
      : never

type Variants<On extends string, Kinds> = {
  [K in keyof Kinds]: Flat<{ [Key in On]: K extends 'data-*' ? `data-${string}` : K } & FieldsOf<Kinds[K]>>
}[keyof Kinds]

/** The object type of a row of fields. */
export type FieldsOf<F> = Flat<
  { -readonly [K in keyof F as F[K] extends `${string}?` ? never : K]: TypeOf<F[K] & string> } & {
    -readonly [K in keyof F as F[K] extends `${string}?` ? K : never]?: F[K] extends `${infer Name}?`
      ? TypeOf<Name>
      : never
  }
>

type ChunkOfRow<Type extends string, R> = R extends { fields: infer F; kinds: infer Kinds }
  ? { [K in keyof Kinds]: Flat<{ type: Type; kind: K } & FieldsOf<F> & FieldsOf<Kinds[K]>> }[keyof Kinds]
  : R extends { fields: infer F }
    ? Flat<{ type: Type } & FieldsOf<F>>
    : never

/** The chunk types of the catalogue. */
export type ChunkType = keyof typeof catalogue

/** The chunk of one type: `ChunkOf<'text-delta'>`. */
export type ChunkOf<Type extends ChunkType> = ChunkOfRow<Type, (typeof catalogue)[Type]>

/** An application's own data, `data-<name>`. */
export type DataChunk = ChunkOfRow<`data-${string}`, typeof dataRow>

/** A chunk: one typed event. Newer writers may send types that are not listed here, so a `switch` over `type` needs a default. */
export type Chunk = { [Type in ChunkType]: ChunkOf<Type> }[ChunkType] | DataChunk

/** One part of a complete message. Kinds that are not listed are kept unchanged. */
export type Content = TypeOf<'content'>
/** The side that executes a tool. */
export type Executor = TypeOf<'executor'>
/** Why a model stopped. */
export type FinishReason = TypeOf<'finishReason'>
/** The first message of a requested run. */
export type Input = TypeOf<'input'>
/** One operation of a JSON Patch (RFC 6902). */
export type Operation = TypeOf<'operation'>
/** A question to a user. */
export type Question = TypeOf<'question'>
/** The author of a message. */
export type Role = TypeOf<'role'>
/** Status with which a run or a sub-agent ended. */
export type RunStatus = TypeOf<'runStatus'>
/** The token usage of a model call. A count that the provider does not report is missing. */
export type Usage = TypeOf<'usage'>
/** Something that a lane waits for. */
export type PendingRef = TypeOf<'awaited'>
