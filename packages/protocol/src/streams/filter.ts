import type { Entry, WriterOrigin } from '../entry/entry.ts'
import { pipe, type StreamOptions } from './pipe.ts'

type Typed = { readonly type: string }

/** What the helpers that look at chunks work on: entries, or bare chunks. */
export type StreamItem = Entry<Typed> | Typed

type ChunkIn<Item> = Item extends Entry<infer C> ? C : Item
type TypeIn<Item> = ChunkIn<Item> extends infer C ? (C extends Typed ? C['type'] : never) : never

/** The chunks of a union that a type names; of an open family such as `data-*`, the one member. */
type OfType<C, Type> = Type extends string
  ? C extends { type: infer Own }
    ? Own extends Type
      ? C
      : Type extends Own
        ? { [Key in keyof C]: Key extends 'type' ? Type : C[Key] }
        : never
    : never
  : never

/** A stream's items without all but the named types. */
export type OnlyTypes<Item, Type extends string> =
  Item extends Entry<infer C> ? Entry<OfType<C, Type>> : OfType<Item, Type>

type IsUnion<T, Whole = T> = (T extends unknown ? ([Whole] extends [T] ? never : true) : never) extends never
  ? false
  : true

/** The types that a list names for certain: an element that may be one type or another excludes neither. */
type Certain<Types extends readonly string[]> = number extends Types['length']
  ? never
  : { [Index in keyof Types]: IsUnion<Types[Index]> extends true ? never : Types[Index] }[number]

type NotOfType<C, Type> = C extends { type: infer Own } ? (Own extends Type ? never : C) : C

/** A stream's items without those of the named types. */
export type WithoutTypes<Item, Types extends readonly string[]> =
  Item extends Entry<infer C> ? Entry<NotOfType<C, Certain<Types>>> : NotOfType<Item, Certain<Types>>

/** The chunk of an entry, or the chunk itself: an entry has no `type` of its own. */
export const chunkOf = (item: StreamItem): Typed => ('type' in item ? item : item.chunk)

/** Keeps the items that pass a test; a type guard narrows the stream. */
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

/** Keeps the entries or chunks of the named types. */
export function filterByType<Item extends StreamItem, const Type extends TypeIn<Item>>(
  stream: AsyncIterable<Item>,
  types: readonly Type[],
  options?: StreamOptions,
): AsyncIterableIterator<OnlyTypes<Item, Type>, undefined> {
  const kept: ReadonlySet<string> = new Set(types)
  return filterWith(stream, (item): item is Item & OnlyTypes<Item, Type> => kept.has(chunkOf(item).type), options)
}

/** Keeps the entries or chunks of all but the named types. */
export function excludeTypes<Item extends StreamItem, const Types extends readonly TypeIn<Item>[]>(
  stream: AsyncIterable<Item>,
  types: Types,
  options?: StreamOptions,
): AsyncIterableIterator<WithoutTypes<Item, Types>, undefined> {
  const left: ReadonlySet<string> = new Set(types)
  return filterWith(stream, (item): item is Item & WithoutTypes<Item, Types> => !left.has(chunkOf(item).type), options)
}

const filterByOrigin =
  (field: 'agentId' | 'agentType') =>
  <Item extends Entry<unknown>>(
    stream: AsyncIterable<Item>,
    value: string,
    options?: StreamOptions,
  ): AsyncIterableIterator<Item, undefined> =>
    filterWith(stream, ({ origin }) => (origin as Partial<WriterOrigin>)[field] === value, options)

/** Keeps the entries that one agent wrote. Needs entries: a bare chunk does not say who wrote it. */
export const filterByAgentId = /* @__PURE__ */ filterByOrigin('agentId')

/** Keeps the entries that the agents of one name wrote. Needs entries: a bare chunk does not say who wrote it. */
export const filterByAgentType = /* @__PURE__ */ filterByOrigin('agentType')
