// A session as its driver sees it: the fold of its log, updated step by step. An update costs only the new entries.

import { type Checkpoint, LogError, type StreamInfo, type StreamManager, type Writer } from '@millrace/log'
import type { EntriesSince, FoldedLog, OwnAppend, SnapshotRef } from '@millrace/log/internal'
import {
  type Agent,
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
  type View,
} from '@millrace/protocol'
import { MAIN_LANE } from '@millrace/protocol/internal'
import { RunError } from '../error/error.ts'
import { largeValue } from './large-value.ts'
import { runContextOf } from './run-context.ts'
import { type HookOrigin, RunStats, type RunUsage } from './run-stats.ts'
import { withUploads } from './upload.ts'

/** Stream id of the structured output of a run, or of a sub-agent in it. */
export const outputStreamId = (runId: string, agentId: string = runId): string => `output:${agentId}`

/** Options for one drive of the session. */
export interface SessionOptions {
  /** Writes the entries of the run. They are folded as soon as they are in the log. */
  readonly writer?: Pick<Writer, 'cursor' | 'listen'>
  /** Called with the new head after entries were folded. */
  readonly onRead?: (head: number) => void
  /** Called with the store's clock whenever the store returns it. */
  readonly onClock?: (clock: number) => void
}

export class Session {
  readonly id: string
  readonly #manager: StreamManager
  readonly #log: FoldedLog
  #options: SessionOptions
  /** The read in progress. */
  #reading: Promise<unknown> = Promise.resolve()
  #reads = 0
  readonly #stopListening: (() => void) | undefined
  #stats: RunStats | undefined
  #view: View | undefined
  /** Parts with their large values, by the original part. */
  readonly #partsWithLargeValues = new WeakMap<Part, Part>()
  /** The ids of all calls, and the ids by part key: a discarded part no longer has its call id. */
  readonly #calls = new Set<string>()
  readonly #callOf = new Map<string, string>()
  /** Ids of calls that readers do not see. */
  #hidden: Set<string>
  /** Sub-agents that have not ended, by message id. A set, because a run may have many and looks them up often. */
  readonly #openAgents = new Set<string>()
  /** Ids of calls that agents are about to make, with the agent. They are not in the log yet. */
  readonly #reserved = new Map<string, string>()

  private constructor(manager: StreamManager, id: string, log: FoldedLog, options: SessionOptions) {
    this.#manager = manager
    this.id = id
    this.#log = log
    this.#options = options
    for (const { parts } of this.view.messages) for (const part of parts) this.#noteCall(part.key, part)
    this.#hidden = hiddenCallsIn(this.view)
    for (const { runId, agentId, status } of this.view.agents) {
      if (status === undefined) this.#openAgents.add(messageIdOf(runId, agentId))
    }
    this.#stopListening = options.writer?.listen({ sending() {}, settled: append => this.#applyOwn(append) })
  }

  /** Opens a session for one drive. Reads what is new since this process last read its log. */
  static async open(manager: StreamManager, id: string, options: SessionOptions = {}): Promise<Session> {
    const log = await manager.takeFold(id)
    // Changes before this point do not count.
    log.fold.takeChanges()
    return new Session(manager, id, log, options)
  }

  /** Gives the folded log back, so that the next drive or reader continues from it. Only when nothing uses this session any more. */
  close(): void {
    this.#options = {}
    this.#stopListening?.()
    this.#manager.giveBackFold(this.id, this.#log)
  }

  /** The snapshot from which it was read. */
  get snapshot(): SnapshotRef {
    return this.#log.snapshot
  }

  get #fold(): Fold {
    return this.#log.fold
  }

  /** Sequence of the last entry read. */
  get head(): number {
    return this.#fold.head
  }

  /**
   * The session with all entries that the driver's writer has appended so far. Reads only if entries of guests precede
   * some of them, or if the result of an append was lost.
   */
  async current(): Promise<this> {
    const { sequence = 0 } = this.#options.writer?.cursor ?? {}
    if (sequence > this.head) await this.#readTo(sequence)
    return this
  }

  /** Folds all entries of the log, including those of guests. */
  async catchUp(): Promise<void> {
    await this.#readTo((await this.#info()).head)
  }

  #readTo(sequence: number): Promise<void> {
    return this.#serialize(async () => {
      if (sequence <= this.#fold.head) return
      this.#apply(await this.#manager.upTo(this.id, this.#log.cursor, sequence))
      this.#options.onRead?.(this.#fold.head)
    })
  }

  /** Folds an append of the driver's writer, unless it must be read: a read in progress may hold it, too. */
  #applyOwn(append: OwnAppend | undefined): void {
    const { cursor } = this.#log
    if (append?.batch === undefined || this.#reads > 0) return
    const { after, batch } = append
    const isNext =
      after.sequence === cursor.sequence && after.epoch === cursor.epoch && after.incarnation === cursor.incarnation
    if (!isNext) return
    this.#apply({ entries: batch.entries, cursor: append.cursor, bytes: batch.length })
    this.#options.onRead?.(this.#fold.head)
  }

  /** Serializes reads: several lanes read, and each entry must be applied once. */
  #serialize<T>(read: () => Promise<T>): Promise<T> {
    this.#reads++
    const done = this.#reading.then(read).finally(() => this.#reads--)
    this.#reading = done.catch(() => {})
    return done
  }

  /** The current time of the store's clock, in ms. */
  async clock(): Promise<number> {
    return (await this.#info()).clock
  }

  async #info(): Promise<StreamInfo> {
    const info = await this.#manager.getInfo(this.id)
    if (info === null) throw new LogError('absent', `the log ${this.id} was deleted`)
    this.#options.onClock?.(info.clock)
    return info
  }

  #apply(added: EntriesSince): void {
    const { entries } = added
    this.#log.apply(added)
    this.#stats?.add(entries)
    this.#view = undefined
    for (const entry of entries) {
      this.#noteAgent(entry)
      if (entry.internal && 'toolCallId' in entry.chunk) this.#hidden.add(String(entry.chunk.toolCallId))
    }
    const isDiscard = ({ chunk }: Entry) => chunk.type === 'step-discarded' || chunk.type === 'rewind'
    if (this.#hidden.size > 0 && entries.some(isDiscard)) this.#hidden = hiddenCallsIn(this.view)
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

  /** The latest step checkpoint of an agent on its lane; undefined if there is none. */
  async lastCheckpoint(
    runId: string,
    lane: string = MAIN_LANE,
    agentId: string = runId,
  ): Promise<Required<Checkpoint> | undefined> {
    return (await this.#statsOf(runId)).lastCheckpoint(lane, agentId)
  }

  /** Usage of an agent in a run, including discarded attempts. */
  async usageOf(runId: string, agentId: string): Promise<RunUsage> {
    return (await this.#statsOf(runId)).usageOf(agentId)
  }

  /** Usage of a run, including discarded attempts. */
  async runUsage(runId: string): Promise<RunUsage> {
    const { inputTokens = 0, outputTokens = 0 } = this.run(runId)?.usage ?? {}
    return { inputTokens, outputTokens, bytes: (await this.#statsOf(runId)).bytes }
  }

  /** Usage of the model of a hook, including discarded attempts. */
  async hookUsage(runId: string, origin: HookOrigin): Promise<RunUsage> {
    return (await this.#statsOf(runId)).hookUsage(origin)
  }

  /** Active time of a hook, in ms: without the time in which its run was paused. */
  async hookActiveTime(runId: string, origin: HookOrigin, now: number): Promise<number> {
    return (await this.#statsOf(runId)).hookActiveTime(origin, now)
  }

  /** Active time of a run or of one of its sub-agents, in ms: without the time in which it waited for an answer. */
  async activeTime(runId: string, agentId: string, now: number): Promise<number> {
    const stats = await this.#statsOf(runId)
    if (agentId !== runId) return stats.subAgentTimes.activeTime(agentId, now)
    const { startedAt = now } = this.run(runId) ?? {}
    return Math.max(0, now - startedAt - stats.pausedBetween(startedAt, now))
  }

  /** Starts the statistics of a run that begins now, so that its entries need not be read again. */
  trackRun(runId: string): void {
    this.#stats = new RunStats(runId)
  }

  /** The statistics of a run. Reads its entries once. */
  async #statsOf(runId: string): Promise<RunStats> {
    if (this.#stats?.runId === runId) return this.#stats
    const { at } = this.run(runId) ?? { at: this.head + 1 }
    const { head } = this
    const stats = new RunStats(runId)
    stats.add(await this.#manager.entries(this.id, at - 1, head))
    await this.#serialize(async () => {
      // Entries read meanwhile are missing.
      if (this.head > head) stats.add(await this.#manager.entries(this.id, head, this.head))
      this.#stats = stats
    })
    return stats
  }

  /** The context that the server passed to a run. */
  context(runId: string): Promise<Json | undefined> {
    return runContextOf(this.#manager, this.id, this.view, runId)
  }

  /** The text of the message that started a run. */
  requestText(runId: string): string {
    const parts = this.view.requests.find(request => request.runId === runId)?.message?.parts ?? []
    return parts.map(part => (part.type === 'text' ? part.text : '')).join('')
  }

  /** The results of the hooks of an active run, including large values. */
  hooks(runId: string): Promise<readonly Hook[]> {
    return this.hooksWithLargeValues(this.view.internal?.hooks.filter(hook => hook.runId === runId) ?? [])
  }

  /** Adds large values to the results of hooks. */
  hooksWithLargeValues(hooks: readonly Hook[]): Promise<readonly Hook[]> {
    return Promise.all(
      hooks.map(async hook => {
        const hash = hook.blobs?.['/result']?.hash
        return hash === undefined ? hook : { ...hook, result: await largeValue(this.#manager, this.id, hash) }
      }),
    )
  }

  /** All entries of an ended run. @throws {RunError} if they were trimmed. */
  async runEntries(runId: string): Promise<readonly Entry[]> {
    const at = this.run(runId)?.at ?? this.head + 1
    const next = this.view.runs.find(run => run.at > at)?.at ?? this.head + 1
    try {
      const entries = await this.#manager.entries(this.id, at - 1, next - 1)
      return entries.filter(({ origin }) => !isGuest(origin) && origin.runId === runId)
    } catch (error) {
      if (!(error instanceof LogError && error.code === 'truncated')) throw error
      throw new RunError('run_not_resumable', `run ${runId} was trimmed and cannot be continued: start another run`, {
        cause: error,
      })
    }
  }

  /** A structured object as read so far. */
  structured(streamId: string): StructuredObject | undefined {
    return this.#fold.structured(streamId)
  }

  /** An interrupt, if it was requested. */
  interrupt(interruptId: string): Interrupt | undefined {
    return this.view.interrupts.find(interrupt => interrupt.interruptId === interruptId)
  }

  /** The message of an agent in a run, if it exists. */
  message(runId: string, agentId: string): Message | undefined {
    return this.#fold.message(messageIdOf(runId, agentId))
  }

  /** The internal message of an agent in a run, which readers do not see. */
  internalMessage(runId: string, agentId: string): Message | undefined {
    return this.view.internal?.messages.find(({ id }) => id === messageIdOf(runId, agentId))
  }

  /** Tracks the start and the end of sub-agents. */
  #noteAgent({ chunk, origin }: Entry): void {
    if (origin.runId === undefined || (chunk.type !== 'subagent-start' && chunk.type !== 'subagent-end')) return
    const id = messageIdOf(origin.runId, chunk.agentId)
    if (chunk.type === 'subagent-end') this.#openAgents.delete(id)
    else this.#openAgents.add(id)
  }

  /** Whether a sub-agent has started and not ended. */
  hasAgent(runId: string, agentId: string): boolean {
    return this.#openAgents.has(messageIdOf(runId, agentId))
  }

  /** Whether a sub-agent may work on a call. */
  mayHaveAgentFor(toolCallId: string): boolean {
    for (const id of this.#openAgents) if (id.endsWith(`:${toolCallId}`)) return true
    return false
  }

  /** The sub-agents of a run that have not ended, most recent first. */
  openAgents(runId: string): readonly Agent[] {
    return this.view.agents.filter(agent => agent.runId === runId && agent.status === undefined).reverse()
  }

  /** The message of an agent in a run as history, with large values and its output as text; empty if there is none. */
  async agentHistory(runId: string, agentId: string): Promise<Message[]> {
    const message = this.message(runId, agentId)
    return message && this.#hasContent(message) ? [await this.withLargeValues(message)] : []
  }

  /** Whether the session has a call with this id, including internal ones. */
  hasCall(toolCallId: string): boolean {
    return this.#calls.has(toolCallId) || this.#hidden.has(toolCallId)
  }

  /**
   * Reserves an id for a call of an agent. Returns false if the session has a call with it, or another agent reserved
   * it.
   */
  reserve(toolCallId: string, agentId: string): boolean {
    if (this.hasCall(toolCallId) || (this.#reserved.get(toolCallId) ?? agentId) !== agentId) return false
    this.#reserved.set(toolCallId, agentId)
    return true
  }

  /** Tracks the calls in added, changed and removed parts. */
  #noteCall(key: string, part: Part | undefined): void {
    if (part && 'toolCallId' in part) {
      this.#calls.add(part.toolCallId)
      this.#callOf.set(key, part.toolCallId)
    } else if (part === undefined) {
      this.#calls.delete(this.#callOf.get(key) ?? '')
      this.#callOf.delete(key)
    }
  }

  /** The conversation: messages of users and root agents, with large values and outputs as text. */
  async history(): Promise<Message[]> {
    const topLevelMessages = this.view.messages.filter(
      message => message.parent === undefined && this.#hasContent(message),
    )
    // Most messages need no change, and there may be many.
    const rest = topLevelMessages.flatMap((message, i) => (this.#isPlain(message) ? [] : [i]))
    await Promise.all(
      rest.map(async i => {
        topLevelMessages[i] = await this.withLargeValues(topLevelMessages[i] as Message)
      }),
    )
    return topLevelMessages
  }

  /** Whether a message has anything for a model: the message of a run that has just begun has not. */
  #hasContent(message: Message): boolean {
    return message.parts.some(part => part.type !== 'step-start') || this.#outputOf(message) !== undefined
  }

  /** Whether a message has neither large values nor an output. */
  #isPlain(message: Message): boolean {
    return this.#outputOf(message) === undefined && message.parts.every(part => part.blobs === undefined)
  }

  /** The structured output of an agent. */
  #outputOf({ runId, agentId }: Message): StructuredObject | undefined {
    return runId === undefined ? undefined : this.#fold.structured(outputStreamId(runId, agentId))
  }

  /** A message with its large values, and with the output of its agent as text. */
  async withLargeValues(message: Message): Promise<Message> {
    if (this.#isPlain(message)) return message
    const output = this.#outputOf(message)
    const parts = await Promise.all(message.parts.map(part => this.#part(part)))
    // A JSON answer is not a text part, but it is the model's answer.
    if (output?.status === 'done') {
      const text = JSON.stringify(output.data)
      parts.push({ type: 'text', key: 'output', at: output.at, id: 'output', text, state: 'done' })
    }
    return { ...message, parts }
  }

  /** Messages with the bytes of their uploads. */
  withUploads(messages: readonly Message[]): Promise<readonly Message[]> {
    return withUploads(this.#manager, this.id, messages)
  }

  async #part(part: Part): Promise<Part> {
    if (part.blobs === undefined) return part
    let full = this.#partsWithLargeValues.get(part)
    if (full === undefined) {
      const values = await Promise.all(
        Object.entries(part.blobs).map(async ([pointer, { hash }]) => [
          pointer.slice(1),
          await largeValue(this.#manager, this.id, hash),
        ]),
      )
      full = { ...part, ...Object.fromEntries(values) } as Part
      this.#partsWithLargeValues.set(part, full)
    }
    return full
  }
}

function hiddenCallsIn({ internal }: View): Set<string> {
  const parts = internal?.messages.flatMap(message => message.parts) ?? []
  return new Set(parts.flatMap(part => ('toolCallId' in part ? [part.toolCallId] : [])))
}
