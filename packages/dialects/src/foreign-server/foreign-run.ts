// A run of a peer's, as it is written into our log: what the peer says, and around it what our own server would say.

import {
  type Chunk,
  type Entry,
  Fold,
  type Json,
  type Message,
  type MessageChunk,
  messageIdOf,
  type Part,
  type Pending,
  type PendingRef,
  type RunStatus,
  type ToolPart,
  type View,
  validateChunk,
  type WriterOrigin,
} from '@millrace/protocol'
import type { ClientAnswer } from '../dialect/client-request.ts'
import type { DecodedChunk, EndStatus } from '../dialect/dialect.ts'
import type { RequestError } from '../http/request-error.ts'
import { type ForeignLog, LIVE, type WrittenChunk } from './foreign-log.ts'
import type { ForeignReply, ForeignRequest, ForeignServer } from './foreign-server.ts'
import { RunIds, type SessionIds } from './session-ids.ts'
import { type ReplyListener, ReplyReader } from './reply-reader.ts'

/** What our own side says of a run, and no peer. */
const OURS: ReadonlySet<string> = new Set([
  'run-requested',
  'run-started',
  'run-paused',
  'run-resumed',
  'run-finished',
  'run-notified',
  'run-context',
  'stop-requested',
  'executor-superseded',
  'rewind',
])

export interface ForeignRunOptions {
  readonly sessionId: string
  readonly runId: string
  readonly program: string
  readonly data?: Json | undefined
  /** What was there before, as the peer calls it. */
  readonly replaces?: string | undefined
  readonly peer: ForeignServer
  readonly log: ForeignLog
  readonly names: SessionIds
  /** What leaves its replies; one of its own, if nothing is said. */
  readonly control?: AbortController | undefined
  /** Told that it has ended. */
  readonly ended: () => void
}

const isCall = (part: Part): part is ToolPart => 'toolCallId' in part

/** Tells a call that is open, and of which nobody has said who is to run it. */
const isNobodys = (part: Part): boolean =>
  isCall(part) && part.state === 'input-available' && part.executor === undefined

/** Whether nothing is said after the calls that are open. */
const endsOpen = (parts: readonly Part[]): boolean => parts.slice(parts.findIndex(isNobodys)).every(isCall)

/** The call that a peer waits for the page to run. */
const callIn = (awaited: PendingRef): string[] => (awaited.kind === 'client-tool' ? [awaited.toolCallId] : [])

const isDenied = (part: Part): part is ToolPart =>
  isCall(part) && part.state === 'approval-responded' && part.approval?.approved === false

/** One open run. */
export class ForeignRun implements ReplyListener {
  readonly runId: string
  /** Whether the peer has said anything. */
  isHeard = false
  /** Whether it waits for answers. */
  isPaused = false
  readonly #options: ForeignRunOptions
  readonly #control: AbortController
  readonly #names: RunIds
  #answers: ClientAnswer[] = []
  #reading: ReplyReader | undefined
  #step = 0
  #checkpoints = 0
  /** As it was when the peer was last asked. */
  #before: View | undefined
  /** What closes the message: it is said last, and only where the run ends. */
  #closing: Extract<Chunk, { type: 'finish' | 'abort' }> | undefined
  /** The calls that the peer waits for the page to run, as it calls them; undefined where it named nothing that it waits for. */
  #awaited: ReadonlySet<string> | undefined
  #isOver = false

  constructor(options: ForeignRunOptions) {
    this.#options = options
    this.runId = options.runId
    this.#control = options.control ?? new AbortController()
    this.#names = new RunIds(this.runId, options.names)
  }

  get #origin(): WriterOrigin {
    const { runId } = this
    const agentType = this.#options.program.replace(/^\w+:/, '')
    return { runId, lane: 'main', agentId: runId, agentType, step: this.#step }
  }

  /** Writes as the run. */
  write(...chunks: readonly Chunk[]): void {
    const origin = this.#origin
    this.#options.log.append(chunks.map(chunk => ({ chunk, origin })))
  }

  /** Asks the peer, or takes a reply that is there, and follows it to its end; nothing is thrown. */
  async drive(kind: ForeignRequest['kind'], given?: ForeignReply): Promise<void> {
    const { peer, log, names, sessionId, data, replaces } = this.#options
    const { runId } = this
    const before = log.view()
    this.#before = before
    this.#awaited = undefined
    const request: ForeignRequest = {
      sessionId,
      runId,
      kind,
      messages: names.told(before.messages),
      answers: this.#answers.splice(0).map(answer => names.answer(answer)),
      foreignIds: names.messages,
      replaces: kind === 'continue' ? undefined : replaces,
      state: before.state,
      data,
      signal: this.#control.signal,
    }
    const reading = new ReplyReader(peer, request, this)
    this.#reading = reading
    try {
      const status = await reading.run(() => given ?? peer.ask(request))
      if (status !== undefined) this.settle(status)
    } catch (error) {
      this.#fail(error)
    }
    log.stands(...LIVE)
  }

  /** Tries again at once, where it waits for a connection. */
  wake(): void {
    this.#reading?.wake()
  }

  told(told: readonly DecodedChunk[]): void {
    if (this.#isOver) return
    this.isHeard = true
    const { log } = this.#options
    let written: WrittenChunk[] = []
    try {
      for (const one of told) {
        this.#take(one, written)
        if (!one.retractsAll) continue
        log.append(written)
        written = []
        this.#unsay()
      }
    } finally {
      // What came before something that is no chunk is no worse for it.
      if (written.length > 0) log.append(written)
    }
    const past = told.flatMap(({ isHistory, chunk }) => (isHistory ? [chunk] : []))
    if (past.length > 0) this.#precede(past)
  }

  /** What the reply said so far does not hold. */
  #unsay(): void {
    const { log } = this.#options
    this.write(this.#checkpoint())
    if (this.#before) log.restore(withoutNewParts(log.view(), this.runId, this.#before))
  }

  /** The peer tells what was said before the page knew of the session. */
  #precede(past: readonly Chunk[]): void {
    const { log, names } = this.#options
    log.restore(withPastTurns(log.view(), past, names, this.runId))
  }

  #take({ chunk: said, origin, messageId, isHistory }: DecodedChunk, written: WrittenChunk[]): void {
    const chunk = validateChunk(said)
    if (isHistory) return
    const { runId } = this
    if (messageId !== undefined && !origin) this.#options.names.messages.set(messageIdOf(runId, runId), messageId)
    if (chunk.type === 'run-paused' && chunk.awaits.length > 0) this.#awaited = new Set(chunk.awaits.flatMap(callIn))
    // What a person said is in the log before the peer hears it.
    if (OURS.has(chunk.type) || (chunk.type === 'message' && chunk.role === 'user')) return
    if (origin?.guest !== undefined) {
      written.push({ chunk: this.#names.own(chunk, runId), origin: { ...origin, runId } })
      return
    }
    const isRoot = !origin || origin.agentId === origin.runId
    if (isRoot && (chunk.type === 'finish' || chunk.type === 'abort')) {
      this.#closing = chunk
      return
    }
    if (isRoot && chunk.type === 'step-start') {
      // What a step says may be taken back, and no more than that.
      written.push({ chunk: this.#checkpoint(), origin: this.#origin })
      this.#step++
    }
    const agentId = isRoot ? runId : origin.agentId
    const whose = origin ? { ...origin, runId, agentId } : this.#origin
    written.push({ chunk: this.#names.own(chunk, agentId), origin: whose })
  }

  anew(): void {
    if (this.#before) this.#options.log.restore(this.#before)
    this.#closing = undefined
  }

  broke(reason: string): void {
    if (!this.#isOver) this.#options.log.stands('offline', reason)
  }

  resumed(): void {
    this.#options.log.stands(...LIVE)
  }

  #checkpoint(): Chunk {
    return { type: 'checkpoint-created', checkpointId: `${this.runId}:${++this.#checkpoints}` }
  }

  /** Takes an answer; when nothing waits any more, the run goes on. */
  answer(answer: ClientAnswer): void {
    this.#answers.push(answer)
    if (this.isPaused && this.#options.log.pendings.length === 0) this.#goOn()
  }

  #goOn(): void {
    this.isPaused = false
    this.write({ type: 'run-resumed', mode: 'continue' })
    void this.drive('continue')
  }

  /** It was said how the run stands: it ends, waits, or goes on with what was answered meanwhile. */
  settle(status: EndStatus): void {
    if (this.#isOver) return
    if (status !== 'paused' && status !== 'completed') {
      this.finish(status)
      return
    }
    // Nobody is asked for what may still be taken back.
    this.write(this.#checkpoint())
    this.#handOver(status === 'paused')
    const { pendings } = this.#options.log
    const isAnswered = status === 'paused' && this.#answers.length > 0
    if (pendings.length === 0 && !isAnswered) {
      this.finish('completed')
      return
    }
    const { metadata } = { metadata: undefined, ...this.#closing }
    this.#closing = undefined
    if (metadata) this.write({ type: 'message-metadata', metadata })
    this.write({ type: 'run-paused', awaits: pendings.map(awaitedOf) })
    this.isPaused = true
    if (pendings.length === 0) this.#goOn()
  }

  /**
   * Calls that a peer leaves open are the client's to run: those that it names, where it names what it waits for; all, where it says just that it waits; and where it says
   * that it is done, those that it said nothing after. Only the end tells that: there the view is another.
   */
  #handOver(isSaid: boolean): void {
    const { log } = this.#options
    const view = log.view()
    const messages = view.messages.map(message => {
      if (message.runId !== this.runId || !message.parts.some(part => this.#isClients(part))) return message
      if (!isSaid && !endsOpen(message.parts)) return message
      const parts = message.parts.map(part =>
        this.#isClients(part) ? ({ ...part, executor: 'client' } as Part) : part,
      )
      return { ...message, parts }
    })
    if (messages.some((message, i) => message !== view.messages[i])) log.restore({ ...view, messages })
  }

  #isClients(part: Part): boolean {
    if (!isNobodys(part)) return false
    const { toolCallId } = part as ToolPart
    return this.#awaited?.has(this.#options.names.foreign.get(toolCallId) ?? toolCallId) ?? true
  }

  #fail(error: unknown): void {
    if (this.#isOver) return
    const { code = 'peer_failed', message = String(error), retryable = false } = error as Partial<RequestError>
    this.write({ type: 'error', code, message, retryable })
    this.finish('failed')
  }

  /** Stops it, for all who look on; the reply is left. */
  stop(status: RunStatus): ForeignReply | undefined {
    const reply = this.#reading?.reply
    this.finish(status)
    return reply
  }

  /** The one end of it. */
  finish(status: RunStatus): void {
    if (this.#isOver) return
    const { log, ended } = this.#options
    for (const { runId, parts } of log.view().messages) {
      if (runId !== this.runId) continue
      // Not all say what became of a call that was denied.
      for (const { toolCallId } of parts.filter(isDenied)) this.write({ type: 'tool-output-denied', toolCallId })
    }
    if (status === 'completed') this.write(this.#closing ?? { type: 'finish' })
    else if (status !== 'failed') this.write(this.#closing?.type === 'abort' ? this.#closing : { type: 'abort' })
    this.write({ type: 'run-finished', status })
    this.#isOver = true
    this.isPaused = false
    this.#control.abort()
    // It is there for as long as its session: what it was asked with is not.
    this.#reading = this.#before = undefined
    ended()
  }
}

/** What a run says that it waits for. */
function awaitedOf(pending: Pending): Extract<Chunk, { type: 'run-paused' }>['awaits'][number] {
  const { kind, id } = pending
  if (kind === 'interrupt') return { kind, id }
  const { toolCallId, toolName } = pending.part
  return { kind, id, toolCallId, toolName }
}

/** A view with what was said before all that it shows: what people said, and after each what the peer answered. It is as old as can be, and over. */
function withPastTurns(view: View, told: readonly Chunk[], names: SessionIds, mark: string): View {
  const fold = new Fold()
  let turn: { readonly runId: string; readonly names: RunIds } | undefined
  let turns = 0
  const write = (runId: string, ...chunks: readonly Chunk[]) =>
    fold.apply(
      chunks.map((chunk, i): Entry => {
        const origin = { runId, lane: 'main', agentId: runId, agentType: '', step: 0 }
        return { sequence: fold.head + i + 1, timestamp: 0, origin, chunk }
      }),
    )
  const end = () => turn && write(turn.runId, { type: 'finish' }, { type: 'run-finished', status: 'completed' })
  const begin = () => {
    end()
    const runId = `${mark}~past-${++turns}`
    write(runId, { type: 'run-started', program: '' })
    turn = { runId, names: new RunIds(runId, names) }
    return turn
  }
  for (const chunk of told) {
    if (chunk.type === 'message') write(begin().runId, named(chunk, names))
    else {
      const { runId, names: own } = turn ?? begin()
      write(runId, own.own(chunk, runId))
    }
  }
  end()
  const { messages, runs } = fold.view()
  const isThere = new Set(view.messages.map(({ id }) => id))
  const before = messages.filter(({ id }) => !isThere.has(id)).map(aged)
  return {
    ...view,
    messages: [...before, ...view.messages],
    runs: [...runs.map(run => ({ ...run, at: 0 })), ...view.runs],
  }
}

/** Before all else, in the order in which they stand. */
const aged = (message: Message): Message => ({
  ...message,
  at: 0,
  ...(message.metaAt !== undefined && { metaAt: 0 }),
  parts: message.parts.map(part => ({ ...part, at: 0 })),
})

/** A person's message under a name that one may have here: what agents' messages have in theirs is in no other. */
function named(said: MessageChunk, names: SessionIds): MessageChunk {
  const messageId = said.messageId.replaceAll('::', ':')
  if (messageId !== said.messageId) names.messages.set(messageId, said.messageId)
  return { ...said, messageId }
}

/** A view without the words and calls of a run that were not there at another time. */
function withoutNewParts(view: View, runId: string, before: View): View {
  const id = messageIdOf(runId, runId)
  const had = new Set(before.messages.find(message => message.id === id)?.parts.map(({ key }) => key))
  const messages = view.messages.map(message =>
    message.id === id
      ? { ...message, parts: message.parts.filter(part => had.has(part.key) || !WORDS.has(part.type)) }
      : message,
  )
  return { ...view, messages }
}

const WORDS: ReadonlySet<string> = new Set(['text', 'reasoning', 'tool', 'dynamic-tool'])
