// The chunks of MUI X Chat on the wire. Its runtime ignores unknown fields and types: `millrace` holds the supplement of a chunk, and chunks without an
// equivalent have a type of their own.

import type { Chunk, GuestOrigin, Origin } from '@millrace/protocol'
import type { Supplement } from '../../dialect/supplement.ts'
import type { ChatMessageChunk } from '../types.ts'

/** The type of data parts for chunks that MUI X Chat has no type for and that a page shows: interrupts, responses, and complete structured objects. */
export const EXTENSION = 'data-millrace'

/** The type of all other chunks without an equivalent. The runtime ignores it, while it keeps data parts even if they are transient. */
export const HIDDEN_EXTENSION = 'millrace'

/** The data of an extension. */
export interface MuiExtension {
  readonly chunk: Chunk
}

/** The origin of a chunk, unless it is the main lane of the run. */
export type MuiOrigin = Origin | GuestOrigin | { readonly lane: string; readonly guest?: never; readonly runId?: never }

interface MuiSupplement {
  /** The fields of our chunk that this one cannot express. */
  readonly millrace?: Supplement
  readonly origin?: MuiOrigin
}

/** A chunk on the wire: one of MUI X Chat or an extension. */
export type MuiEvent = MuiSupplement & (ChatMessageChunk | { readonly type: 'millrace'; readonly data: MuiExtension })

export const isExtension = (event: MuiEvent): event is MuiSupplement & { type: 'millrace'; data: MuiExtension } =>
  event.type === HIDDEN_EXTENSION || event.type === EXTENSION
