// The context that nodes and tools see. It comes only from the app's `context` option, never from the client.

import type { Json } from '@millrace/protocol'

/** The request for a run that the `context` option gets. */
export interface ContextRequest {
  /** The HTTP request. */
  readonly request: Request
  /** The caller's principal; null if the app has no `authorize`. */
  readonly principal: string | null
  /** The body after validation. */
  readonly body: unknown
}

/** Creates the context of a run: JSON without credentials. */
export type CreateContext = (request: ContextRequest) => Json | undefined | Promise<Json | undefined>

/** Maximum size of a context as JSON, in bytes. */
export const MAX_CONTEXT_BYTES = 1024 * 1024

/** Calls the `context` option and returns its result as JSON. @throws an internal error that hides the cause from the client */
export async function contextOf(create: CreateContext | undefined, request: ContextRequest): Promise<Json | undefined> {
  try {
    const text = JSON.stringify(await create?.(request))
    if (text === undefined) return undefined
    if (Buffer.byteLength(text) <= MAX_CONTEXT_BYTES) return JSON.parse(text)
  } catch (cause) {
    throw new Error('context: expected JSON, but the function threw or returned something else', { cause })
  }
  throw new Error(`context: expected at most ${MAX_CONTEXT_BYTES} bytes of JSON`)
}
