// The fields of an object as the compiler knows them: dotted paths with `*` for any key or index, and how each may arrive.

import type { FieldKind, Fields } from '@millrace/protocol'

/** How the fields of a value may arrive, by their paths; any, where the type does not tell. */
export type FieldsOf<T> = unknown extends T ? Fields : { readonly [E in FieldIn<T, '', []> as E[0]]?: E[1] }

type FieldIn<T, Before extends string, Depth extends unknown[]> = T extends readonly (infer Item)[]
  ? Field<`${Before}${'*' | number}`, Item, Depth>
  : T extends object
    ? string extends keyof T
      ? AnyField<Before>
      : { [K in keyof T & string]: Field<`${Before}${K | '*'}`, T[K], Depth> }[keyof T & string]
    : never

/** What is deeper than the compiler should follow may be anything. */
type Field<Path extends string, T, Depth extends unknown[]> = Depth['length'] extends 5
  ? [Path, FieldKind] | AnyField<`${Path}.`>
  : [Path, KindOf<NonNullable<T>>] | FieldIn<NonNullable<T>, `${Path}.`, [...Depth, unknown]>

type AnyField<Before extends string> = [`${Before}${string}`, FieldKind]

type KindOf<T> = unknown extends T
  ? FieldKind
  : 'set' | (T extends string ? 'text-delta' : T extends readonly unknown[] ? 'append' : never)
