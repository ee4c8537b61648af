import type { Json } from '../json/json.ts'

/** A tree with the keys of `data`, down to the items that no write has set. Branches without such items may remain. */
export interface UnsetItems {
  /** `true` for an unset item, or the unset items below a field or an item. */
  readonly [key: string]: true | UnsetItems
}

/** The state of a structured object. */
export interface StructuredState {
  /** Id of the object. */
  readonly streamId: string
  /** The application's name for this kind of object. */
  readonly dataType: string
  /** `done` after the final data. */
  readonly status: 'streaming' | 'done'
  /** The object so far. */
  readonly data: Json
  /** The array items that are `null` only because a later item was written before them. A write may create anything there. */
  readonly unset?: UnsetItems
  /** Id of the schema of the object, if set. */
  readonly schemaId?: string
  /** Version of the schema of the object, if set. */
  readonly schemaVersion?: string
  /** The application's id of the object, if set. */
  readonly id?: string
  /** Id of the workflow node that writes the object, if any. */
  readonly node?: string
}
