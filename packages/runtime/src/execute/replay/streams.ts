// The structured objects that a workflow shows, as far as they are: so that an update which does not fit fails in the node that says it, and not in somebody's browser.

import { type Lane, LogError } from '@millrace/log'
import { ProtocolError, StructuredAccumulator, type StructuredDataChunk } from '@millrace/protocol'
import { ValidationError } from '../../error/error.ts'
import type { Session } from '../../session/session.ts'

/** Why the log does not take an update, where that is the node's own doing. */
const REFUSALS: Partial<Record<LogError['code'], string>> = {
  refused: 'another branch shows this object at the same time: give each a streamId of its own',
  'too-large': 'the update is larger than the log takes: show it in pieces, or a reference',
  'queue-full': 'too many updates wait to be written: await each',
  invalid: 'the update is none that the log takes',
}

export class Streams {
  readonly #session: Session
  readonly #objects = new Map<string, StructuredAccumulator>()

  constructor(session: Session) {
    this.#session = session
  }

  /** Shows an update; throws where its object does not allow it, or the log does not take it. */
  show(lane: Lane, chunk: StructuredDataChunk, what: string): PromiseLike<void> {
    this.#write(chunk, what)
    try {
      return lane.write(chunk)
    } catch (error) {
      this.forget(chunk.streamId)
      const why = error instanceof LogError ? REFUSALS[error.code] : undefined
      throw why === undefined ? error : new ValidationError(`${what}: ${why}`, { cause: error })
    }
  }

  #write(chunk: StructuredDataChunk, what: string): void {
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
