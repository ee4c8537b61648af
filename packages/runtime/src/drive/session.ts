// A session as its driver knows it: the fold of its log, kept up step by step at the cost of what is new.

import type { StreamManager } from '@millrace/log'
import {
  type Fold,
  isCheckpointCreated,
  type Json,
  type Message,
  messageIdOf,
  type Part,
  type Run,
  type View,
} from '@millrace/protocol'
import { outputStreamId } from '../agent/output.ts'
import { contextOf } from '../run/context.ts'
import { largeValue } from '../run/large.ts'

/** The lane on which the root agent of a run works. */
const ROOT_LANE = 'main'

export class Session {
  readonly id: string
  readonly #manager: StreamManager
  readonly #fold: Fold
  readonly #onRead: ((head: number) => void) | undefined
  #view: View | undefined
  /** Parts whose large values are back in their places. */
  readonly #whole = new WeakMap<Part, Part>()
  /** The ids of all calls, and by the keys of their parts: a part that was taken back does not tell its call any more. */
  readonly #calls = new Set<string>()
  readonly #callOf = new Map<string, string>()

  private constructor(manager: StreamManager, id: string, fold: Fold, onRead?: (head: number) => void) {
    this.#manager = manager
    this.id = id
    this.#fold = fold
    this.#onRead = onRead
    for (const { parts } of this.view.messages) for (const part of parts) this.#noteCall(part.key, part)
  }

  /** Reads a session, from its latest snapshot on; calls back when it has read on, with how far. */
  static async open(manager: StreamManager, id: string, onRead?: (head: number) => void): Promise<Session> {
    const { fold } = await manager.fold(id)
    // What is told of it from here on is what is new.
    fold.takeChanges()
    return new Session(manager, id, fold, onRead)
  }

  /** How far it has read. */
  get head(): number {
    return this.#fold.head
  }

  /** Reads on, at least to a sequence. */
  async sync(to: number): Promise<void> {
    if (to <= this.#fold.head) return
    this.#fold.apply(await this.#manager.entries(this.id, this.#fold.head, to))
    this.#view = undefined
    for (const [messageId, keys] of this.#fold.takeChanges().messages) {
      for (const key of keys) this.#noteCall(key, this.#fold.part(messageId, key))
    }
    this.#onRead?.(this.#fold.head)
  }

  get view(): View {
    this.#view ??= this.#fold.view()
    return this.#view
  }

  get state(): Json | undefined {
    return this.view.state
  }

  run(runId: string): Run | undefined {
    return this.view.runs.find(run => run.runId === runId)
  }

  /** The latest checkpoint of a step that the root agent of a run came to, if it came to one. */
  async lastCheckpoint(runId: string): Promise<string | undefined> {
    const { at } = this.run(runId) ?? { at: this.head }
    const entries = await this.#manager.entries(this.id, at, this.head)
    const last = entries.findLast(
      ({ chunk, origin: { lane, ...origin } }) =>
        isCheckpointCreated(chunk) && (chunk.stepCount ?? 0) > 0 && origin.runId === runId && lane === ROOT_LANE,
    )
    return (last?.chunk as { checkpointId?: string } | undefined)?.checkpointId
  }

  /** What the server's own code gave a run. */
  context(runId: string): Promise<Json | undefined> {
    return contextOf(this.#manager, this.id, this.view, runId)
  }

  /** The message of an agent in a run, once it has one. */
  message(runId: string, agentId: string): Message | undefined {
    return this.#fold.message(messageIdOf(runId, agentId))
  }

  /** Whether a call of that id is in the session. */
  hasCall(toolCallId: string): boolean {
    return this.#calls.has(toolCallId)
  }

  /** Notes that a part is there, or is not any more. */
  #noteCall(key: string, part: Part | undefined): void {
    if (part && 'toolCallId' in part) {
      this.#calls.add(part.toolCallId)
      this.#callOf.set(key, part.toolCallId)
    } else if (part === undefined) {
      this.#calls.delete(this.#callOf.get(key) ?? '')
      this.#callOf.delete(key)
    }
  }

  /** The conversation: messages of people and of root agents, with large values in their places and outputs as text. */
  async history(): Promise<Message[]> {
    const own = this.view.messages.filter(({ parent }) => parent === undefined)
    return Promise.all(own.map(message => this.#resolve(message)))
  }

  async #resolve(message: Message): Promise<Message> {
    const { runId } = message
    const output = runId === undefined ? undefined : this.#fold.structured(outputStreamId(runId))
    const isPlain = message.parts.every(part => part.blobs === undefined)
    if (isPlain && output === undefined) return message
    const parts = await Promise.all(message.parts.map(part => this.#part(part)))
    // What the model answered in JSON is no text part, and yet it was its answer.
    if (output?.status === 'done') {
      const text = JSON.stringify(output.data)
      parts.push({ type: 'text', key: 'output', at: output.at, id: 'output', text, state: 'done' })
    }
    return { ...message, parts }
  }

  async #part(part: Part): Promise<Part> {
    if (part.blobs === undefined) return part
    let whole = this.#whole.get(part)
    if (whole === undefined) {
      const values = await Promise.all(
        Object.entries(part.blobs).map(async ([pointer, { hash }]) => [
          pointer.slice(1),
          await largeValue(this.#manager, this.id, hash),
        ]),
      )
      whole = { ...part, ...Object.fromEntries(values) } as Part
      this.#whole.set(part, whole)
    }
    return whole
  }
}
