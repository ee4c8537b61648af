import type { Message } from '@millrace/protocol'
import type { ChatError } from '../error/chat-error.ts'
import type { SessionApi } from './session-api.ts'

/** A run that was asked for, until the log has it: enough to ask again, for the same. */
export interface OutgoingRun {
  readonly runId: string
  /** The message that it says, or is about. */
  readonly messageId: string
  readonly path: string
  /** What it says, as it is shown until then. */
  readonly shown?: Message | undefined
  readonly make: () => Promise<object>
  /** What is asked for: made once, since only the same again is the same run. */
  body?: object | undefined
  /** Nothing, while it is on its way. */
  fate?: 'accepted' | ChatError | undefined
}

/** Whether it may still come to something by itself. */
export const isInFlight = ({ fate }: OutgoingRun): boolean => typeof fate !== 'object'

/** What a chat has asked for, and the log does not have yet: one after the other, so that nothing is overtaken. */
export class Outbox {
  readonly #api: SessionApi
  readonly #all = new Map<string, OutgoingRun>()
  #turn: Promise<unknown> = Promise.resolve()

  constructor(api: SessionApi) {
    this.#api = api
  }

  get all(): readonly OutgoingRun[] {
    return [...this.#all.values()]
  }

  /** Settled when nothing is on its way any more, of what was up to now. */
  get turn(): Promise<unknown> {
    return this.#turn
  }

  has({ runId }: OutgoingRun): boolean {
    return this.#all.has(runId)
  }

  /** What could not be sent: that message, or the last. */
  failed(messageId?: string): OutgoingRun | undefined {
    return this.all.findLast(one => one.shown && !isInFlight(one) && one.messageId === (messageId ?? one.messageId))
  }

  /** Asks, after all that was asked before. */
  ask(outgoing: OutgoingRun): Promise<void> {
    const { runId, path, make } = outgoing
    outgoing.fate = undefined
    // The last, if it is not the first time.
    this.#all.delete(runId)
    this.#all.set(runId, outgoing)
    const asked = this.#turn.then(async () => {
      outgoing.body ??= await make()
      await this.#api.askWithRetry('POST', path, outgoing.body)
      outgoing.fate = 'accepted'
    })
    this.#turn = asked.catch(() => {})
    return asked
  }

  /** The log has it, or nobody wants it any more. */
  delete(runId: string): OutgoingRun | undefined {
    const outgoing = this.#all.get(runId)
    this.#all.delete(runId)
    for (const part of outgoing?.shown?.parts ?? []) if (part.type === 'file') URL.revokeObjectURL?.(part.url)
    return outgoing
  }
}
