import type { Message } from '@millrace/protocol'
import type { ChatError } from '../error/chat-error.ts'
import type { SessionApi } from './session-api.ts'

/** A requested run that the log does not have yet, with all that a resend needs. */
export interface OutgoingRun {
  readonly runId: string
  /** Message that the run sends or regenerates. */
  readonly messageId: string
  readonly path: string
  /** Optimistic message. */
  readonly message?: Message | undefined
  readonly createBody: () => Promise<object>
  /** Request body. Created once: a resend must be equal to count as the same run. */
  body?: object | undefined
  /** Undefined while in flight. */
  outcome?: 'accepted' | ChatError | undefined
}

/** Whether the run can still appear in the log without a resend. */
export const isInFlight = ({ outcome }: OutgoingRun): boolean => typeof outcome !== 'object'

/** Queue of requested runs that the log does not have yet. Sends one at a time, in order. */
export class Outbox {
  readonly #api: SessionApi
  readonly #runs = new Map<string, OutgoingRun>()
  #queue: Promise<unknown> = Promise.resolve()

  constructor(api: SessionApi) {
    this.#api = api
  }

  get runs(): readonly OutgoingRun[] {
    return [...this.#runs.values()]
  }

  /** Resolves when all requests so far have settled. */
  get settled(): Promise<unknown> {
    return this.#queue
  }

  has({ runId }: OutgoingRun): boolean {
    return this.#runs.has(runId)
  }

  /** Failed run of a message, or the last failed one. */
  failed(messageId?: string): OutgoingRun | undefined {
    return this.runs.findLast(run => run.message && !isInFlight(run) && run.messageId === (messageId ?? run.messageId))
  }

  /** Sends the request after all earlier ones. */
  send(outgoing: OutgoingRun): Promise<void> {
    const { runId, path, createBody } = outgoing
    outgoing.outcome = undefined
    // A resend moves to the end.
    this.#runs.delete(runId)
    this.#runs.set(runId, outgoing)
    const sent = this.#queue.then(async () => {
      outgoing.body ??= await createBody()
      await this.#api.askWithRetry('POST', path, outgoing.body)
      outgoing.outcome = 'accepted'
    })
    this.#queue = sent.catch(() => {})
    return sent
  }

  /** Removes a run that is in the log or was given up. */
  delete(runId: string): OutgoingRun | undefined {
    const outgoing = this.#runs.get(runId)
    this.#runs.delete(runId)
    for (const part of outgoing?.message?.parts ?? []) if (part.type === 'file') URL.revokeObjectURL?.(part.url)
    return outgoing
  }
}
