import type { Entry, WriterOrigin } from '../entry/entry.ts'
import { pipe, type StreamOptions } from './pipe.ts'

type Typed = { readonly type: string }

/** An item of a chunk stream: an entry, or a chunk alone. */
export type StreamItem = Entry<Typed> | Typed

type ChunkIn<Item> = Item extends Entry<infer C> ? C : Item
type TypeIn<Item> = ChunkIn<Item> extends infer C ? (C extends Typed ? C['type'] : never) : never

/** The members of a chunk union with the given type; for an open family such as `data-*`, narrowed to that type. */
type OfType<C, Type> = Type extends string
  ? C extends { type: infer Own }
    ? Own extends Type
      ? C
      : Type extends Own
        ? { [Key in keyof C]: Key extends 'type' ? Type : C[Key] }
        : never
    : never
  : never

/** The items of a stream that have one of the given types. */
export type OnlyTypes<Item, Type extends string> =
  Item extends Entry<infer C> ? Entry<OfType<C, Type>> : OfType<Item, Type>

type IsUnion<T, Whole = T> = (T extends unknown ? ([Whole] extends [T] ? never : true) : never) extends never
  ? false
  : true

/** The types that a list contains for certain. An element whose type is a union excludes none of its members. */
type Certain<Types extends readonly string[]> = number extends Types['length']
  ? never
  : { [Index in keyof Types]: IsUnion<Types[Index]> extends true ? never : Types[Index] }[number]

type NotOfType<C, Type> = C extends { type: infer Own } ? (Own extends Type ? never : C) : C

/** The items of a stream that have none of the given types. */
export type WithoutTypes<Item, Types extends readonly string[]> =
  Item extends Entry<infer C> ? Entry<NotOfType<C, Certain<Types>>> : NotOfType<Item, Certain<Types>>

/** The chunk of an entry, or the chunk itself. Entries have no `type`. */
export const itemChunk = (item: StreamItem): Typed => ('type' in item ? item : item.chunk)

/** Keeps the items that pass a test. A type guard narrows the type of the stream. */
export function filterWith<Item, Kept extends Item>(
  stream: AsyncIterable<Item>,
  test: (item: Item) => item is Kept,
  options?: StreamOptions,
): AsyncIterableIterator<Kept, undefined>
export function filterWith<Item>(
  stream: AsyncIterable<Item>,
  test: (item: Item) => boolean,
  options?: StreamOptions,
): AsyncIterableIterator<Item, undefined>
export function filterWith<Item>(
  stream: AsyncIterable<Item>,
  test: (item: Item) => boolean,
  options?: StreamOptions,
): AsyncIterableIterator<Item, undefined> {
  return pipe(
    stream,
    async function* (items) {
      for await (const item of items) if (test(item)) yield item
    },
    options,
  )
}

/** Keeps the entries or chunks of the given types. */
export function filterByType<Item extends StreamItem, const Type extends TypeIn<Item>>(
  stream: AsyncIterable<Item>,
  types: readonly Type[],
  options?: StreamOptions,
): AsyncIterableIterator<OnlyTypes<Item, Type>, undefined> {
  const kept: ReadonlySet<string> = new Set(types)
  return filterWith(stream, (item): item is Item & OnlyTypes<Item, Type> => kept.has(itemChunk(item).type), options)
}

/** Removes the entries or chunks of the given types. */
export function excludeTypes<Item extends StreamItem, const Types extends readonly TypeIn<Item>[]>(
  stream: AsyncIterable<Item>,
  types: Types,
  options?: StreamOptions,
): AsyncIterableIterator<WithoutTypes<Item, Types>, undefined> {
  const excluded: ReadonlySet<string> = new Set(types)
  return filterWith(
    stream,
    (item): item is Item & WithoutTypes<Item, Types> => !excluded.has(itemChunk(item).type),
    options,
  )
}

const filterByOrigin =
  (field: 'agentId' | 'agentType') =>
  <Item extends Entry<unknown>>(
    stream: AsyncIterable<Item>,
    value: string,
    options?: StreamOptions,
  ): AsyncIterableIterator<Item, undefined> =>
    filterWith(stream, ({ origin }) => (origin as Partial<WriterOrigin>)[field] === value, options)

/** Keeps the entries of one agent. Needs entries, because chunks have no origin. */
export const filterByAgentId = /* @__PURE__ */ filterByOrigin('agentId')

/** Keeps the entries of all agents with one name. Needs entries, because chunks have no origin. */
export const filterByAgentType = /* @__PURE__ */ filterByOrigin('agentType')
