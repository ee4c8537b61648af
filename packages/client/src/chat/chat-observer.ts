import {
  type Chunk,
  type Entry,
  isData,
  isGuest,
  type LedgerView,
  messageIdOf,
  type Run,
  type ToolPart,
} from '@millrace/protocol'
import type { Store } from '../store/store.ts'
import { type ChatCallbacks, type ChatFinish, invokeCallback } from './callbacks.ts'

/** Whether chunks of this type can change the state of a tool call. */
const isToolTransition = (type: string): boolean =>
  type.startsWith('tool-') && type !== 'tool-input-delta' && type !== 'tool-claimed'

/** Other chunk types that the observer reports. */
const REPORTED_TYPES = new Set(['run-finished', 'session-info'])

/** Whether a chunk has data of the application, not of a model provider. */
const isAppData = (chunk: Chunk): boolean => isData(chunk) && chunk.type !== 'data-provider-content'

/** Events for the chat itself. */
export interface ObserverListener {
  runFailed(run: Run): void
  titleChanged(title: string): void
}

/** Folds entries into the store, and calls the callbacks: once per event, also if entries are read again. */
export class ChatObserver {
  callbacks: ChatCallbacks = {}
  readonly #store: Store
  readonly #listener: ObserverListener
  readonly #messageIdsByCall = new Map<string, string>()
  readonly #finishedRunIds = new Set<string>()
  #isFirstRead = true

  constructor(store: Store, listener: ObserverListener) {
    this.#store = store
    this.#listener = listener
  }

  /**
   * Starts from a snapshot. On the first one, runs that finished before are not reported, except those in `ownRunIds`. Later ones report
   * runs that finished since the last.
   */
  begin({ runs }: Pick<LedgerView, 'runs'>, ownRunIds: ReadonlySet<string>): void {
    const isFirstRead = this.#isFirstRead
    this.#isFirstRead = false
    for (const run of runs) {
      if (run.finishedAt === undefined || this.#finishedRunIds.has(run.runId)) continue
      if (isFirstRead && !ownRunIds.has(run.runId)) this.#finishedRunIds.add(run.runId)
      else this.#finish(run)
    }
  }

  /**
   * Folds the entries of a frame, and calls the callbacks afterwards. `through` is the sequence that the frame reaches. Returns false if a
   * rewind among them needs a snapshot.
   */
  apply(entries: readonly Entry[], through?: number): boolean {
    this.#isFirstRead = false
    const calls: (() => void)[] = []
    let foldedCount = 0
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as Entry
      const { type } = entry.chunk
      if (!isToolTransition(type) && !REPORTED_TYPES.has(type) && !isAppData(entry.chunk)) continue
      const messageId = this.#messageIdOf(entry)
      const { toolCallId = '' } = entry.chunk as { toolCallId?: string }
      const readCall = () => (messageId === undefined ? undefined : this.#store.call(messageId, toolCallId))
      const isFolded = this.#store.fold(entries.slice(foldedCount, i))
      const before = readCall()?.state
      if (!isFolded || !this.#store.fold([entry])) return this.#end(false, calls)
      foldedCount = i + 1
      const toolCall = readCall()
      if (messageId === undefined || !toolCall) this.#observe(entry, calls)
      else if (toolCall.state !== before) {
        if (toolCall.state.startsWith('output-')) this.#messageIdsByCall.delete(toolCallId)
        calls.push(() => invokeCallback(this.callbacks.onToolCall, { toolCall, messageId }))
      }
    }
    return this.#end(this.#store.apply(foldedCount === 0 ? entries : entries.slice(foldedCount), through), calls)
  }

  #end(isFolded: boolean, calls: readonly (() => void)[]): boolean {
    if (!isFolded) this.#store.apply([])
    for (const call of calls) call()
    return isFolded
  }

  /** Id of the message that contains a tool call. */
  #messageIdOf({ chunk, origin }: Entry): string | undefined {
    const { toolCallId } = chunk as { toolCallId?: string }
    if (toolCallId === undefined) return undefined
    const isSameCall = ({ part }: { readonly part: ToolPart }) => part.toolCallId === toolCallId
    const messageId = isGuest(origin)
      ? (this.#messageIdsByCall.get(toolCallId) ??
        this.#store.pendings.filter(pending => pending.kind !== 'interrupt').find(isSameCall)?.messageId)
      : messageIdOf(origin.runId, origin.agentId)
    if (messageId !== undefined) this.#messageIdsByCall.set(toolCallId, messageId)
    return messageId
  }

  #observe({ chunk, origin }: Entry, calls: (() => void)[]): void {
    if (chunk.type === 'session-info') {
      const { title } = chunk
      if (title !== undefined) calls.push(() => this.#listener.titleChanged(title))
    } else if (isData(chunk)) {
      const { type, data, id, transient } = chunk
      const value = { type, data, ...(id !== undefined && { id }), ...(transient && { transient }) }
      calls.push(() => invokeCallback(this.callbacks.onData, value))
    } else if (chunk.type === 'run-finished') {
      const run = this.#store.run((origin as { runId: string }).runId)
      if (run?.finishedAt !== undefined) calls.push(() => this.#finish(run))
    }
  }

  #finish(run: Run): void {
    const { runId, status } = run
    if (this.#finishedRunIds.has(runId)) return
    this.#store.flush()
    if (status === 'failed') this.#listener.runFailed(run)
    this.#reportFinish(runId, {
      isAbort: status === 'interrupted' || status === 'aborted',
      isError: status === 'failed',
    })
  }

  /** Reports a run with unknown outcome, after its stream was lost. */
  disconnected(runId: string): void {
    this.#reportFinish(runId, { isDisconnect: true, isError: true })
  }

  #reportFinish(runId: string, outcome: Partial<ChatFinish>): void {
    this.#finishedRunIds.add(runId)
    const message = this.#store.message(messageIdOf(runId, runId))
    const { finishReason } = message ?? {}
    invokeCallback(this.callbacks.onFinish, {
      runId,
      ...(message && { message }),
      messages: this.#store.messages,
      isAbort: false,
      isDisconnect: false,
      isError: false,
      ...outcome,
      ...(finishReason && { finishReason }),
    })
  }
}
