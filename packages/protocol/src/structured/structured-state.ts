import type { Json } from '../json/json.ts'

/** A tree with the keys of `data`, down to the items that no write has set. Branches without such items may remain. */
export interface UnsetItems {
  readonly [key: string]: true | UnsetItems
}

/** The state of a structured object. */
export interface StructuredState {
  readonly streamId: string
  readonly dataType: string
  readonly status: 'streaming' | 'done'
  readonly data: Json
  /** The array items that are `null` only because a later item was written before them. A write may create anything there. */
  readonly unset?: UnsetItems
  readonly schemaId?: string
  readonly schemaVersion?: string
  readonly id?: string
  readonly node?: string
}
