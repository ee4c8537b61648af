// What the code of nodes and tools sees as its context is what the server's own code returned, and nothing else.

import type { Json } from '@millrace/protocol'

/** Who asks for a run, and how. */
export interface ContextRequest {
  readonly request: Request
  /** Null where nobody is asked who they are. */
  readonly principal: string | null
  /** The body, as it was checked. */
  readonly body: unknown
}

/** Creates the context of a run: JSON without credentials. */
export type CreateContext = (asked: ContextRequest) => Json | undefined | Promise<Json | undefined>

/** The largest context, as JSON, in bytes. */
export const MOST_CONTEXT_BYTES = 1024 * 1024

/** The context of a run, as its log will have it. Whatever is wrong with it is the server's own fault, and nobody is told its words. */
export async function contextOf(make: CreateContext | undefined, asked: ContextRequest): Promise<Json | undefined> {
  try {
    const text = JSON.stringify(await make?.(asked))
    if (text === undefined) return undefined
    if (Buffer.byteLength(text) <= MOST_CONTEXT_BYTES) return JSON.parse(text)
  } catch (cause) {
    throw new Error('context: it threw, or gave what is no JSON', { cause })
  }
  throw new Error(`context: expected at most ${MOST_CONTEXT_BYTES} bytes of JSON`)
}
