import { type Chunk, type Entry, isData, isGuest, messageIdOf, type Run, type ToolPart } from '@millrace/protocol'
import type { LedgerView } from '@millrace/protocol/internal'
import type { Store } from '../store/store.ts'
import { type ChatCallbacks, type ChatFinish, invokeCallback } from './callbacks.ts'

/** Of calls: all but what streams, or changes no state. */
const isTransition = (type: string): boolean =>
  type.startsWith('tool-') && type !== 'tool-input-delta' && type !== 'tool-claimed'

const NOTED = new Set(['run-finished', 'session-info'])

/** Tells the application's data from what the server keeps of a provider's. */
const isNews = (chunk: Chunk): boolean => isData(chunk) && chunk.type !== 'data-provider-content'

/** What a chat wants to know of, beside its callbacks. */
export interface ObserverListener {
  /** A run ended with an error. */
  failed(run: Run): void
  /** Somebody named the session. */
  titled(title: string): void
}

/** Folds what comes into the store, and tells the callbacks of it: each thing once, however often it is read. */
export class ChatObserver {
  callbacks: ChatCallbacks = {}
  readonly #store: Store
  readonly #heard: ObserverListener
  readonly #owners = new Map<string, string>()
  readonly #ended = new Set<string>()
  #isFirst = true

  constructor(store: Store, heard: ObserverListener) {
    this.#store = store
    this.#heard = heard
  }

  /** What the log said before this is nothing new, but for runs of one's own; what ended since the last look is. */
  begin({ runs }: Pick<LedgerView, 'runs'>, own: ReadonlySet<string>): void {
    const isFirst = this.#isFirst
    this.#isFirst = false
    for (const run of runs) {
      if (run.finishedAt === undefined || this.#ended.has(run.runId)) continue
      if (isFirst && !own.has(run.runId)) this.#ended.add(run.runId)
      else this.#finish(run)
    }
  }

  /** Folds a frame; false where a rewind in it needs a view to go on from. */
  apply(entries: readonly Entry[], through?: number): boolean {
    this.#isFirst = false
    const news: (() => void)[] = []
    let from = 0
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as Entry
      const { type } = entry.chunk
      if (!isTransition(type) && !NOTED.has(type) && !isNews(entry.chunk)) continue
      const owner = this.#ownerOf(entry)
      const { toolCallId = '' } = entry.chunk as { toolCallId?: string }
      const call = () => (owner === undefined ? undefined : this.#store.call(owner, toolCallId))
      const isWhole = this.#store.fold(entries.slice(from, i))
      const before = call()?.state
      if (!isWhole || !this.#store.fold([entry])) return this.#end(false, news)
      from = i + 1
      const toolCall = call()
      if (owner === undefined || !toolCall) this.#note(entry, news)
      else if (toolCall.state !== before) {
        if (toolCall.state.startsWith('output-')) this.#owners.delete(toolCallId)
        news.push(() => invokeCallback(this.callbacks.onToolCall, { toolCall, messageId: owner }))
      }
    }
    return this.#end(this.#store.apply(from === 0 ? entries : entries.slice(from), through), news)
  }

  #end(isWhole: boolean, news: readonly (() => void)[]): boolean {
    if (!isWhole) this.#store.apply([])
    for (const one of news) one()
    return isWhole
  }

  /** The message that a call stands in. */
  #ownerOf({ chunk, origin }: Entry): string | undefined {
    const { toolCallId } = chunk as { toolCallId?: string }
    if (toolCallId === undefined) return undefined
    const isIt = ({ part }: { readonly part: ToolPart }) => part.toolCallId === toolCallId
    const owner = isGuest(origin)
      ? (this.#owners.get(toolCallId) ??
        this.#store.pendings.filter(pending => pending.kind !== 'interrupt').find(isIt)?.messageId)
      : messageIdOf(origin.runId, origin.agentId)
    if (owner !== undefined) this.#owners.set(toolCallId, owner)
    return owner
  }

  #note({ chunk, origin }: Entry, news: (() => void)[]): void {
    if (chunk.type === 'session-info') {
      const { title } = chunk
      if (title !== undefined) news.push(() => this.#heard.titled(title))
    } else if (isData(chunk)) {
      const { type, data, id, transient } = chunk
      const value = { type, data, ...(id !== undefined && { id }), ...(transient && { transient }) }
      news.push(() => invokeCallback(this.callbacks.onData, value))
    } else if (chunk.type === 'run-finished') {
      const run = this.#store.run((origin as { runId: string }).runId)
      if (run?.finishedAt !== undefined) news.push(() => this.#finish(run))
    }
  }

  #finish(run: Run): void {
    const { runId, status } = run
    if (this.#ended.has(runId)) return
    this.#store.flush()
    if (status === 'failed') this.#heard.failed(run)
    this.#over(runId, { isAbort: status === 'interrupted' || status === 'aborted', isError: status === 'failed' })
  }

  /** How a run ends will not be known here. */
  lose(runId: string): void {
    this.#over(runId, { isDisconnect: true, isError: true })
  }

  #over(runId: string, how: Partial<ChatFinish>): void {
    this.#ended.add(runId)
    const message = this.#store.message(messageIdOf(runId, runId))
    const { finishReason } = message ?? {}
    invokeCallback(this.callbacks.onFinish, {
      runId,
      ...(message && { message }),
      messages: this.#store.messages,
      isAbort: false,
      isDisconnect: false,
      isError: false,
      ...how,
      ...(finishReason && { finishReason }),
    })
  }
}
