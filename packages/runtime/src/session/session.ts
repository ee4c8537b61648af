// A session as its driver knows it: the fold of its log, kept up step by step at the cost of what is new.

import { LogError, type StreamInfo, type StreamManager, type Writer } from '@millrace/log'
import type { EntriesSince, FoldedLog, SnapshotRef } from '@millrace/log/internal'
import {
  type Agent,
  type Cursor,
  type Entry,
  type Fold,
  type Hook,
  type Interrupt,
  isGuest,
  type Json,
  type Message,
  messageIdOf,
  type Part,
  type Run,
  type StructuredObject,
  type Usage,
  type View,
} from '@millrace/protocol'
import { RunError } from '../error/error.ts'

import { largeValue } from './large-value.ts'
import { contextOf } from './run-context.ts'
import { type HookOrigin, RunStats } from './run-stats.ts'
import { withUploads } from './upload.ts'

/** The structured object of an agent's output: of the run, or of a sub-agent in it. */
export const outputStreamId = (runId: string, agentId: string = runId): string => `output:${agentId}`

/** The lane on which the root agent of a run works. */
const ROOT_LANE = 'main'

/** What one driver gives the session while it drives a run. */
export interface SessionOptions {
  /** Writes the entries of the run: `refresh` folds what it has appended. */
  readonly writer?: Pick<Writer, 'cursor'>
  /** Called with the new head after entries were folded. */
  readonly onRead?: (head: number) => void
  /** Called with the store's clock whenever the store returns it. */
  readonly onClock?: (clock: number) => void
}

export class Session {
  readonly id: string
  /** The snapshot from which it was read. */
  readonly snapshot: SnapshotRef
  readonly #manager: StreamManager
  readonly #fold: Fold
  #options: SessionOptions
  /** The place up to which it has read: what comes next is proven to follow (law 2). */
  #cursor: Cursor
  #bytes: number
  /** The reading that is under way. */
  #reading: Promise<unknown> = Promise.resolve()
  #stats: RunStats | undefined
  #view: View | undefined
  /** Parts whose large values are back in their places. */
  readonly #whole = new WeakMap<Part, Part>()
  /** The ids of all calls, and by the keys of their parts: a part that was taken back does not tell its call any more. */
  readonly #calls = new Set<string>()
  readonly #callOf = new Map<string, string>()
  /** The ids of calls that no reader sees. */
  #hidden: Set<string>
  /** The sub-agents that have not ended, by the ids of their messages: a run may have many, and asks for each again and again. */
  readonly #openAgents = new Set<string>()
  /** The ids of calls that agents are about to make, and who: those of others are not read yet. */
  readonly #reserved = new Map<string, string>()

  private constructor(
    manager: StreamManager,
    id: string,
    { fold, cursor, bytes, snapshot }: FoldedLog,
    options: SessionOptions,
  ) {
    this.#manager = manager
    this.id = id
    this.snapshot = snapshot
    this.#fold = fold
    this.#cursor = cursor
    this.#bytes = bytes
    this.#options = options
    for (const { parts } of this.view.messages) for (const part of parts) this.#noteCall(part.key, part)
    this.#hidden = hiddenCallsIn(this.view)
    for (const { runId, agentId, status } of this.view.agents) {
      if (status === undefined) this.#openAgents.add(messageIdOf(runId, agentId))
    }
  }

  /** Reads a session, from its latest snapshot on. */
  static async open(manager: StreamManager, id: string, options: SessionOptions = {}): Promise<Session> {
    const past = await manager.fold(id)
    // What is told of it from here on is what is new.
    past.fold.takeChanges()
    return new Session(manager, id, past, options)
  }

  /** Lets it rest where a run has ended: nobody hears of it, and nothing is kept that is only that run's. */
  release(): void {
    this.#options = {}
    this.#stats = undefined
    this.#reserved.clear()
  }

  /** Wakes it for another drive, to the end of the log, at the cost of what came meanwhile; false where that does not follow on what it has read: then another is to be opened. */
  wake(options: SessionOptions): Promise<boolean> {
    return this.#inTurn(async () => {
      const news = await this.#manager.since(this.id, this.#cursor)
      if (news === undefined || news.entries.some(({ chunk }) => chunk.type === 'rewind')) return false
      this.#take(news)
      this.#options = options
      return true
    })
  }

  /** How far it has read. */
  get head(): number {
    return this.#fold.head
  }

  /** How much it holds, about. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Folds all entries that the driver's writer has appended so far. Nothing else in the runtime reads the driver's own entries back, so what this costs is
   * decided here alone.
   */
  refresh(): Promise<void> {
    return this.#readTo(this.#options.writer?.cursor.sequence ?? 0)
  }

  /** Folds all entries of the log, those of guests too. */
  async catchUp(): Promise<void> {
    await this.#readTo((await this.#info()).head)
  }

  #readTo(sequence: number): Promise<void> {
    return this.#inTurn(async () => {
      if (sequence <= this.#fold.head) return
      this.#take(await this.#manager.upTo(this.id, this.#cursor, sequence))
      this.#options.onRead?.(this.#fold.head)
    })
  }

  /** Several lanes read, and each entry counts once. */
  #inTurn<T>(read: () => Promise<T>): Promise<T> {
    const done = this.#reading.then(read)
    this.#reading = done.catch(() => {})
    return done
  }

  /** The store's clock. */
  async clock(): Promise<number> {
    return (await this.#info()).clock
  }

  async #info(): Promise<StreamInfo> {
    const info = await this.#manager.getInfo(this.id)
    if (info === null) throw new LogError('absent', `there is no log ${this.id} any more`)
    this.#options.onClock?.(info.clock)
    return info
  }

  #take({ entries, cursor, bytes }: EntriesSince): void {
    this.#cursor = cursor
    this.#bytes += bytes
    this.#fold.apply(entries)
    this.#stats?.add(entries)
    this.#view = undefined
    for (const entry of entries) {
      this.#noteAgent(entry)
      if (entry.internal && 'toolCallId' in entry.chunk) this.#hidden.add(String(entry.chunk.toolCallId))
    }
    const isTakenBack = ({ chunk }: Entry) => chunk.type === 'step-discarded' || chunk.type === 'rewind'
    if (this.#hidden.size > 0 && entries.some(isTakenBack)) this.#hidden = hiddenCallsIn(this.view)
    for (const [messageId, keys] of this.#fold.takeChanges().messages) {
      for (const key of keys) this.#noteCall(key, this.#fold.part(messageId, key))
    }
  }

  get view(): View {
    this.#view ??= this.#fold.view()
    return this.#view
  }

  get state(): Json | undefined {
    return this.view.state
  }

  run(runId: string): Run | undefined {
    return this.#fold.run(runId)
  }

  /** The latest checkpoint of a step that an agent of a run came to on its lane, if it came to one. */
  async lastCheckpoint(runId: string, lane: string = ROOT_LANE, agentId: string = runId): Promise<string | undefined> {
    return (await this.#statsOf(runId)).lastCheckpoint(lane, agentId)
  }

  /** What an agent of a run has used, discarded attempts too. */
  async usageOf(runId: string, agentId: string): Promise<Usage> {
    return (await this.#statsOf(runId)).usage.get(agentId) ?? {}
  }

  /** What a model used that works for a hook, discarded attempts too. */
  async usageOn(runId: string, origin: HookOrigin): Promise<Usage> {
    return (await this.#statsOf(runId)).usageOn(origin)
  }

  /** For how long a hook has been at work until now, in milliseconds: not while its run waited for somebody. */
  async timeOn(runId: string, origin: HookOrigin, now: number): Promise<number> {
    return (await this.#statsOf(runId)).timeOn(origin, now)
  }

  /** For how long a run has been at work until now, or a sub-agent of it, in milliseconds: not while it waited for somebody. */
  async timeOf(runId: string, agentId: string, now: number): Promise<number> {
    const stats = await this.#statsOf(runId)
    if (agentId !== runId) return stats.subAgentTimes.timeOf(agentId, now)
    const { startedAt = now } = this.run(runId) ?? {}
    return Math.max(0, now - startedAt - stats.pausedSince(startedAt, now))
  }

  /** The entries of a run, as far as no view tells what they say. */
  async #statsOf(runId: string): Promise<RunStats> {
    if (this.#stats?.runId === runId) return this.#stats
    const { at } = this.run(runId) ?? { at: this.head + 1 }
    const { head } = this
    const stats = new RunStats(runId)
    stats.add(await this.#manager.entries(this.id, at - 1, head))
    await this.#inTurn(async () => {
      // What was read meanwhile is not in it yet.
      if (this.head > head) stats.add(await this.#manager.entries(this.id, head, this.head))
      this.#stats = stats
    })
    return stats
  }

  /** What the server's own code gave a run. */
  context(runId: string): Promise<Json | undefined> {
    return contextOf(this.#manager, this.id, this.view, runId)
  }

  /** The text of the message that a run began with. */
  requestText(runId: string): string {
    const parts = this.view.requests.find(request => request.runId === runId)?.message?.parts ?? []
    return parts.map(part => (part.type === 'text' ? part.text : '')).join('')
  }

  /** What the hooks of a run that has not ended gave, with large values in their places. */
  hooks(runId: string): Promise<readonly Hook[]> {
    return this.wholeHooks(this.view.internal?.hooks.filter(hook => hook.runId === runId) ?? [])
  }

  /** What hooks gave, with large values in their places. */
  wholeHooks(hooks: readonly Hook[]): Promise<readonly Hook[]> {
    return Promise.all(
      hooks.map(async hook => {
        const hash = hook.blobs?.['/result']?.hash
        return hash === undefined ? hook : { ...hook, result: await largeValue(this.#manager, this.id, hash) }
      }),
    )
  }

  /** All that was said in a run that has ended; throws where it is trimmed. */
  async runEntries(runId: string): Promise<readonly Entry[]> {
    const at = this.run(runId)?.at ?? this.head + 1
    const next = this.view.runs.find(run => run.at > at)?.at ?? this.head + 1
    try {
      const entries = await this.#manager.entries(this.id, at - 1, next - 1)
      return entries.filter(({ origin }) => !isGuest(origin) && origin.runId === runId)
    } catch (error) {
      if (!(error instanceof LogError && error.code === 'truncated')) throw error
      throw new RunError('run_not_resumable', `run ${runId} is trimmed: nobody can go on from it, start another`, {
        cause: error,
      })
    }
  }

  /** A structured object, as far as it was read. */
  structured(streamId: string): StructuredObject | undefined {
    return this.#fold.structured(streamId)
  }

  /** A question to a person, once it was asked. */
  interrupt(interruptId: string): Interrupt | undefined {
    return this.view.interrupts.find(interrupt => interrupt.interruptId === interruptId)
  }

  /** The message of an agent in a run, once it has one. */
  message(runId: string, agentId: string): Message | undefined {
    return this.#fold.message(messageIdOf(runId, agentId))
  }

  /** What an agent has said in a run that no reader sees. */
  internalMessage(runId: string, agentId: string): Message | undefined {
    return this.view.internal?.messages.find(({ id }) => id === messageIdOf(runId, agentId))
  }

  /** Notes that a sub-agent begins or ends. */
  #noteAgent({ chunk, origin }: Entry): void {
    if (origin.runId === undefined || (chunk.type !== 'subagent-start' && chunk.type !== 'subagent-end')) return
    const id = messageIdOf(origin.runId, chunk.agentId)
    if (chunk.type === 'subagent-end') this.#openAgents.delete(id)
    else this.#openAgents.add(id)
  }

  /** Whether a sub-agent has begun, and has not ended. */
  hasAgent(runId: string, agentId: string): boolean {
    return this.#openAgents.has(messageIdOf(runId, agentId))
  }

  /** Whether a sub-agent may be at work for a call. */
  mayHaveAgentFor(toolCallId: string): boolean {
    for (const id of this.#openAgents) if (id.endsWith(`:${toolCallId}`)) return true
    return false
  }

  /** The sub-agents of a run that have not ended, those that began last first. */
  openAgents(runId: string): readonly Agent[] {
    return this.view.agents.filter(agent => agent.runId === runId && agent.status === undefined).reverse()
  }

  /** What an agent has said in a run, with large values in their places and its output as text; nothing, where it has not. */
  async agentHistory(runId: string, agentId: string): Promise<Message[]> {
    const message = this.message(runId, agentId)
    return message ? [await this.withLargeValues(message)] : []
  }

  /** Whether a call of that id is in the session, also one that no reader sees. */
  hasCall(toolCallId: string): boolean {
    return this.#calls.has(toolCallId) || this.#hidden.has(toolCallId)
  }

  /** Takes an id for a call of an agent; false where the session has a call by it, or another agent is about to make one. */
  reserve(toolCallId: string, agentId: string): boolean {
    if (this.hasCall(toolCallId) || (this.#reserved.get(toolCallId) ?? agentId) !== agentId) return false
    this.#reserved.set(toolCallId, agentId)
    return true
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
    // Nearly all are plain, and there may be very many.
    const rest = own.flatMap((message, i) => (this.#isPlain(message) ? [] : [i]))
    await Promise.all(
      rest.map(async i => {
        own[i] = await this.withLargeValues(own[i] as Message)
      }),
    )
    return own
  }

  /** Whether a message says all by itself. */
  #isPlain(message: Message): boolean {
    return this.#outputOf(message) === undefined && message.parts.every(part => part.blobs === undefined)
  }

  /** What an agent gave beside its message. */
  #outputOf({ runId, agentId }: Message): StructuredObject | undefined {
    return runId === undefined ? undefined : this.#fold.structured(outputStreamId(runId, agentId))
  }

  /** A message with large values in their places, and the output of its agent as text. */
  async withLargeValues(message: Message): Promise<Message> {
    if (this.#isPlain(message)) return message
    const output = this.#outputOf(message)
    const parts = await Promise.all(message.parts.map(part => this.#part(part)))
    // What the model answered in JSON is no text part, and yet it was its answer.
    if (output?.status === 'done') {
      const text = JSON.stringify(output.data)
      parts.push({ type: 'text', key: 'output', at: output.at, id: 'output', text, state: 'done' })
    }
    return { ...message, parts }
  }

  /** Messages with the bytes of the files that they name. */
  withUploads(messages: readonly Message[]): Promise<readonly Message[]> {
    return withUploads(this.#manager, this.id, messages)
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

function hiddenCallsIn({ internal }: View): Set<string> {
  const parts = internal?.messages.flatMap(message => message.parts) ?? []
  return new Set(parts.flatMap(part => ('toolCallId' in part ? [part.toolCallId] : [])))
}
