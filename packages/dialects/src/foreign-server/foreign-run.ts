import {
  type Chunk,
  type Entry,
  Fold,
  type Json,
  type Message,
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
import { MAIN_LANE } from '@millrace/protocol/internal'
import type { ClientAnswer } from '../dialect/client-request.ts'
import type { DecodedChunk, EndStatus } from '../dialect/dialect.ts'
import { foreignId } from '../dialect/distinct-id.ts'
import type { RequestError } from '../http/request-error.ts'
import { type ForeignLog, LIVE, type WrittenChunk } from './foreign-log.ts'
import type { ForeignReply, ForeignRequest, ForeignServer } from './foreign-server.ts'
import { ReconnectingReader, type ReplyListener } from './reconnecting-reader.ts'
import { RunIds, type SessionIds } from './session-ids.ts'

/** Chunk types about the run itself. A Millrace server writes them; here `ForeignRun` does, and the ones in a reply are dropped. */
const RUN_CHUNKS: ReadonlySet<string> = new Set([
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
  /** The server's own id of the message that the run replaces. */
  readonly replaces?: string | undefined
  readonly server: ForeignServer
  readonly log: ForeignLog
  readonly ids: SessionIds
  /** Aborts the run's requests. @default a new one */
  readonly control?: AbortController | undefined
  readonly onEnd: () => void
}

const isCall = (part: Part): part is ToolPart => 'toolCallId' in part

/** Whether a part is an open call without an executor. */
const isUnassigned = (part: Part): boolean =>
  isCall(part) && part.state === 'input-available' && part.executor === undefined

/** Whether only calls follow the first open one. */
const endsWithOpenCalls = (parts: readonly Part[]): boolean => parts.slice(parts.findIndex(isUnassigned)).every(isCall)

const clientCallIn = (awaited: PendingRef): string[] => (awaited.kind === 'client-tool' ? [awaited.toolCallId] : [])

const isDenied = (part: Part): part is ToolPart =>
  isCall(part) && part.state === 'approval-responded' && part.approval?.approved === false

/** A run of a foreign server: writes the chunks of its replies into our log, and the chunks around them that a Millrace server would write. */
export class ForeignRun implements ReplyListener {
  readonly runId: string
  /** Whether the server knows the run: it sent something. */
  hasReply = false
  /** Whether the run waits for answers. */
  isPaused = false
  readonly #options: ForeignRunOptions
  readonly #control: AbortController
  readonly #ids: RunIds
  #answers: ClientAnswer[] = []
  #reader: ReconnectingReader | undefined
  #step = 0
  #checkpoints = 0
  /** The view at the last request. */
  #before: View | undefined
  /** The chunk that closes the message. Written last, and only when the run ends. */
  #closing: Extract<Chunk, { type: 'finish' | 'abort' }> | undefined
  /** The server's ids of the calls that it waits for the client to run. Undefined if it named none of its pendings. */
  #awaited: ReadonlySet<string> | undefined
  #isOver = false

  constructor(options: ForeignRunOptions) {
    this.#options = options
    this.runId = options.runId
    this.#control = options.control ?? new AbortController()
    this.#ids = new RunIds(this.runId, options.ids)
  }

  get #origin(): WriterOrigin {
    const { runId } = this
    const agentType = this.#options.program.replace(/^\w+:/, '')
    return { runId, lane: MAIN_LANE, agentId: runId, agentType, step: this.#step }
  }

  write(...chunks: readonly Chunk[]): void {
    const origin = this.#origin
    this.#options.log.append(chunks.map(chunk => ({ chunk, origin })))
  }

  /** Asks the server, or takes `open`, and reads the reply to its end. Never throws: an error fails the run. */
  async drive(kind: ForeignRequest['kind'], open?: ForeignReply): Promise<void> {
    const { server, log, ids, sessionId, data, replaces } = this.#options
    const { runId } = this
    const before = log.view()
    this.#before = before
    this.#awaited = undefined
    const request: ForeignRequest = {
      sessionId,
      runId,
      kind,
      messages: ids.foreignMessages(before.messages),
      answers: this.#answers.splice(0).map(answer => ids.foreignAnswer(answer)),
      foreignIds: ids.messages,
      replaces: kind === 'continue' ? undefined : replaces,
      state: before.state,
      data,
      signal: this.#control.signal,
    }
    const reader = new ReconnectingReader(server, request, this)
    this.#reader = reader
    try {
      const status = await reader.run(() => open ?? server.ask(request))
      if (status !== undefined) this.settle(status)
    } catch (error) {
      this.#fail(error)
    }
    log.setStatus(...LIVE)
  }

  /** Reconnects now if it is waiting to. */
  wake(): void {
    this.#reader?.wake()
  }

  received(chunks: readonly DecodedChunk[]): void {
    if (this.#isOver) return
    this.hasReply = true
    const { log, ids } = this.#options
    let written: WrittenChunk[] = []
    try {
      for (const decoded of chunks) {
        this.#take(decoded, written)
        if (!decoded.retractsAll) continue
        log.append(written)
        written = []
        this.#retract()
      }
    } finally {
      // Chunks before an invalid one are kept.
      if (written.length > 0) log.append(written)
    }
    const history = chunks.flatMap(({ isHistory, chunk }) => (isHistory ? [chunk] : []))
    if (history.length > 0) log.restore(withHistory(log.view(), history, ids, this.runId))
  }

  /** Removes the text and calls of the reply so far. */
  #retract(): void {
    const { log } = this.#options
    this.write(this.#checkpoint())
    if (this.#before) log.restore(withoutNewParts(log.view(), this.runId, this.#before))
  }

  #take({ chunk: received, origin, messageId, isHistory }: DecodedChunk, written: WrittenChunk[]): void {
    const chunk = validateChunk(received)
    if (isHistory) return
    const { runId } = this
    if (messageId !== undefined && !origin) this.#options.ids.messages.set(messageIdOf(runId, runId), messageId)
    if (chunk.type === 'run-paused' && chunk.awaits.length > 0) {
      this.#awaited = new Set(chunk.awaits.flatMap(clientCallIn))
    }
    // User messages are in the log before the server gets them.
    if (RUN_CHUNKS.has(chunk.type) || (chunk.type === 'message' && chunk.role === 'user')) return
    if (origin?.guest !== undefined) {
      written.push({ chunk: this.#ids.withUniqueIds(chunk, runId), origin: { ...origin, runId } })
      return
    }
    const isRoot = !origin || origin.agentId === origin.runId
    if (isRoot && (chunk.type === 'finish' || chunk.type === 'abort')) {
      this.#closing = chunk
      return
    }
    if (isRoot && chunk.type === 'step-start') {
      // A discard reaches back to the start of the step, and no further.
      written.push({ chunk: this.#checkpoint(), origin: this.#origin })
      this.#step++
    }
    const agentId = isRoot ? runId : origin.agentId
    const ownOrigin = origin ? { ...origin, runId, agentId } : this.#origin
    written.push({ chunk: this.#ids.withUniqueIds(chunk, agentId), origin: ownOrigin })
  }

  restarted(): void {
    if (this.#before) this.#options.log.restore(this.#before)
    this.#closing = undefined
  }

  dropped(reason: string): void {
    if (!this.#isOver) this.#options.log.setStatus('offline', reason)
  }

  resumed(): void {
    this.#options.log.setStatus(...LIVE)
  }

  #checkpoint(): Chunk {
    return { type: 'checkpoint-created', checkpointId: `${this.runId}:${++this.#checkpoints}` }
  }

  /** Takes an answer. The last one that is needed resumes a paused run. */
  answer(answer: ClientAnswer): void {
    this.#answers.push(answer)
    if (this.isPaused && this.#options.log.pendings.length === 0) this.#continue()
  }

  #continue(): void {
    this.isPaused = false
    this.write({ type: 'run-resumed', mode: 'continue' })
    void this.drive('continue')
  }

  /** Ends or pauses the run, after a reply that ended with `status`. A paused run continues at once if everything is answered. */
  settle(status: EndStatus): void {
    if (this.#isOver) return
    if (status !== 'paused' && status !== 'completed') {
      this.finish(status)
      return
    }
    // Nothing that a pending refers to may be discarded later.
    this.write(this.#checkpoint())
    this.#assignOpenCalls(status === 'paused')
    const { pendings } = this.#options.log
    const isAnswered = status === 'paused' && this.#answers.length > 0
    if (pendings.length === 0 && !isAnswered) {
      this.finish('completed')
      return
    }
    const { metadata } = { metadata: undefined, ...this.#closing }
    this.#closing = undefined
    if (metadata) this.write({ type: 'message-metadata', metadata })
    this.write({ type: 'run-paused', awaits: pendings.map(pendingRefOf) })
    this.isPaused = true
    if (pendings.length === 0) this.#continue()
  }

  /**
   * Makes open calls the client's to run: the calls that the server names, if it names its pendings; all of them, if it only says that it is paused; and after a
   * completed reply those that end a message. Only the end of a reply decides this, so the view is changed then.
   */
  #assignOpenCalls(isPaused: boolean): void {
    const { log } = this.#options
    const view = log.view()
    const messages = view.messages.map(message => {
      if (message.runId !== this.runId || !message.parts.some(part => this.#isForClient(part))) return message
      if (!isPaused && !endsWithOpenCalls(message.parts)) return message
      const parts = message.parts.map(part =>
        this.#isForClient(part) ? ({ ...part, executor: 'client' } as Part) : part,
      )
      return { ...message, parts }
    })
    if (messages.some((message, i) => message !== view.messages[i])) log.restore({ ...view, messages })
  }

  #isForClient(part: Part): boolean {
    return isUnassigned(part) && (this.#awaited?.has(foreignId((part as ToolPart).toolCallId)) ?? true)
  }

  #fail(error: unknown): void {
    if (this.#isOver) return
    const { code = 'peer_failed', message = String(error), retryable = false } = error as Partial<RequestError>
    this.write({ type: 'error', code, message, retryable })
    this.finish('failed')
  }

  /** Finishes the run and aborts its requests. Returns the reply that was open. */
  stop(status: RunStatus): ForeignReply | undefined {
    const reply = this.#reader?.reply
    this.finish(status)
    return reply
  }

  /** Ends the run, once. */
  finish(status: RunStatus): void {
    if (this.#isOver) return
    const { log, onEnd } = this.#options
    for (const { runId, parts } of log.view().messages) {
      if (runId !== this.runId) continue
      // Some servers send no outcome of a denied call.
      for (const { toolCallId } of parts.filter(isDenied)) this.write({ type: 'tool-output-denied', toolCallId })
    }
    if (status === 'completed') this.write(this.#closing ?? { type: 'finish' })
    else if (status !== 'failed') this.write(this.#closing?.type === 'abort' ? this.#closing : { type: 'abort' })
    this.write({ type: 'run-finished', status })
    this.#isOver = true
    this.isPaused = false
    this.#control.abort()
    // The session keeps its runs: drop the view and the request.
    this.#reader = this.#before = undefined
    onEnd()
  }
}

function pendingRefOf(pending: Pending): Extract<Chunk, { type: 'run-paused' }>['awaits'][number] {
  const { kind, id } = pending
  if (kind === 'interrupt') return { kind, id }
  const { toolCallId, toolName } = pending.part
  return { kind, id, toolCallId, toolName }
}

/** A view with earlier turns before all others: user messages, each with the chunks of its reply. Every such turn is completed. */
function withHistory(view: View, history: readonly Chunk[], ids: SessionIds, prefix: string): View {
  const fold = new Fold()
  let turn: { readonly runId: string; readonly ids: RunIds } | undefined
  let turns = 0
  const write = (runId: string, ...chunks: readonly Chunk[]) =>
    fold.apply(
      chunks.map((chunk, i): Entry => {
        const origin = { runId, lane: MAIN_LANE, agentId: runId, agentType: '', step: 0 }
        return { sequence: fold.head + i + 1, timestamp: 0, origin, chunk }
      }),
    )
  const end = () => turn && write(turn.runId, { type: 'finish' }, { type: 'run-finished', status: 'completed' })
  const begin = () => {
    end()
    const runId = `${prefix}~past-${++turns}`
    write(runId, { type: 'run-started', program: '' })
    turn = { runId, ids: new RunIds(runId, ids) }
    return turn
  }
  for (const chunk of history) {
    if (chunk.type === 'message') write(begin().runId, ids.userMessage(chunk))
    else {
      const { runId, ids: runIds } = turn ?? begin()
      write(runId, runIds.withUniqueIds(chunk, runId))
    }
  }
  end()
  const { messages, runs } = fold.view()
  const viewIds = new Set(view.messages.map(({ id }) => id))
  const earlier = messages.filter(({ id }) => !viewIds.has(id)).map(atStart)
  return {
    ...view,
    messages: [...earlier, ...view.messages],
    runs: [...runs.map(run => ({ ...run, at: 0 })), ...view.runs],
  }
}

/** A message at position 0. Messages at the same position keep their order. */
const atStart = (message: Message): Message => ({
  ...message,
  at: 0,
  ...(message.metaAt !== undefined && { metaAt: 0 }),
  parts: message.parts.map(part => ({ ...part, at: 0 })),
})

/** A view without the text and calls of a run that are not in an earlier view. */
function withoutNewParts(view: View, runId: string, before: View): View {
  const id = messageIdOf(runId, runId)
  const earlierKeys = new Set(before.messages.find(message => message.id === id)?.parts.map(({ key }) => key))
  const messages = view.messages.map(message =>
    message.id === id
      ? { ...message, parts: message.parts.filter(part => earlierKeys.has(part.key) || !RETRACTABLE.has(part.type)) }
      : message,
  )
  return { ...view, messages }
}

const RETRACTABLE: ReadonlySet<string> = new Set(['text', 'reasoning', 'tool', 'dynamic-tool'])
