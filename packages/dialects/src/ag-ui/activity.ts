import { applyPatch, type Chunk, type Json } from '@millrace/protocol'
import { expectString } from '../dialect/validate.ts'
import type { EventOf } from './event.ts'

/** What another server shows of what it is doing: each activity is data of its kind, which is replaced as it goes on. */
export class Activities {
  readonly #contents = new Map<string, Json>()

  /** What an event makes of an activity; undefined, where that is nothing that can be shown. */
  chunkOf(event: EventOf<'ACTIVITY_SNAPSHOT' | 'ACTIVITY_DELTA'>): Chunk | undefined {
    const kind = expectString(event.activityType, `event ${event.type}.activityType`)
    const id = expectString(event.messageId, `event ${event.type}.messageId`)
    const data = event.type === 'ACTIVITY_SNAPSHOT' ? this.#given(event) : this.#changed(event)
    if (data === undefined) return undefined
    this.#contents.set(id, data)
    return { type: `data-${kind}`, id, data }
  }

  #given({ messageId, content, replace }: EventOf<'ACTIVITY_SNAPSHOT'>): Json | undefined {
    return replace === false && this.#contents.has(messageId) ? undefined : (content ?? null)
  }

  /** What does not fit is passed over, as by AG-UI's own clients. */
  #changed({ messageId, patch }: EventOf<'ACTIVITY_DELTA'>): Json | undefined {
    const content = this.#contents.get(messageId)
    if (content === undefined) return undefined
    try {
      return applyPatch(content, patch)
    } catch {
      return undefined
    }
  }
}
