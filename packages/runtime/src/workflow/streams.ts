// The structured objects that a workflow shows, as far as they are: so that an update which does not fit fails in the node that says it, and not in somebody's browser.

import { ProtocolError, StructuredAccumulator, type StructuredDataChunk } from '@millrace/protocol'
import type { Session } from '../drive/session.ts'
import { ValidationError } from '../error/error.ts'

export class Streams {
  readonly #session: Session
  readonly #objects = new Map<string, StructuredAccumulator>()

  constructor(session: Session) {
    this.#session = session
  }

  /** Takes an update down; throws where its object does not allow it. */
  write(chunk: StructuredDataChunk, what: string): void {
    const { streamId } = chunk
    const known = this.#objects.get(streamId)
    const object = known ?? StructuredAccumulator.restore({ state: this.#session.structured(streamId) })
    try {
      object.write(chunk)
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      throw new ValidationError(`${what}: ${error.message}`, { cause: error })
    }
    if (known === undefined) this.#objects.set(streamId, object)
  }

  /** Forgets what was taken down of an object: the log tells. */
  forget(streamId: string): void {
    this.#objects.delete(streamId)
  }
}
