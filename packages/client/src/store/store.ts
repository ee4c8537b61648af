import {
  type Change,
  type Entry,
  Fold,
  type Json,
  type LedgerView,
  type Message,
  type Part,
  type Pending,
  type Run,
  type StructuredObject,
  type TextGrowth,
  type TextMark,
  type ToolPart,
  type View,
} from '@millrace/protocol'
import { FLUSH_MS, FlushScheduler } from '../notify/flush-scheduler.ts'
import { Listeners } from '../notify/listeners.ts'
import { LocalMessages, queuedMessages } from './local-messages.ts'

/** Marks a value that has to be read again. */
const STALE = Symbol()

/** Values that were read, by topic. */
class ReadCache {
  readonly #kinds = new Map<string, Map<string | undefined, unknown>>()

  get(kind: string, id?: string): unknown {
    const values = this.#kinds.get(kind)
    const value = values?.get(id)
    return value !== undefined || values?.has(id) ? value : STALE
  }

  set(kind: string, id: string | undefined, value: unknown): void {
    const values = this.#kinds.get(kind)
    if (values) values.set(id, value)
    else this.#kinds.set(kind, new Map([[id, value]]))
  }

  invalidate(kind: string, id?: string): void {
    const values = this.#kinds.get(kind)
    // Keeps the key: repeated deletes and inserts make a map rehash.
    if (values?.has(id)) values.set(id, STALE)
  }
}

/** Options of a store. */
export interface StoreOptions {
  /** Minimum interval between notifications, in ms. @default 16 */
  readonly flushIntervalMs?: number | undefined
  /** Initial content. @default an empty view */
  readonly view?: View | undefined
}

/**
 * Topic of a subscription: `order` (the message ids), `messages` (all of them), `message` (by id), `part` (by message and key),
 * `structured` (the ids of all objects, or one object by id), `state`, `output`, `ledger` (runs, requests, usage), `pendings`, or `any` change.
 */
export type Topic =
  | readonly ['order' | 'messages' | 'structured' | 'state' | 'output' | 'ledger' | 'pendings' | 'any']
  | readonly ['message' | 'structured', id: string]
  | readonly ['part', messageId: string, key: string]

type TopicKind = Topic[0]

/** Whether a tool call is among the changed parts. */
function hasToolCall(messages: Change['messages']): boolean {
  for (const keys of messages.values()) for (const key of keys) if (key.startsWith('tool:')) return true
  return false
}

const partTopicId = (messageId: string, key: string): string => `${key.length} ${key} ${messageId}`

/**
 * A session for rendering: the fold, optimistic messages and subscriptions. The cost of a delta does not depend on the size of the
 * session. A delta notifies only the listeners of its message and part, at most once per frame (law 11).
 */
export class Store {
  readonly #listeners = new Listeners()
  readonly #scheduler: FlushScheduler
  readonly #localMessages = new LocalMessages()
  #older = new Map<string, Message>()
  #changedIds = new Set<string>()
  /** Display ids of renamed messages by their id in the fold, and the reverse. */
  readonly #displayIds = new Map<string, string>()
  readonly #foldIds = new Map<string, string>()
  #fold: Fold
  /** Values that reads return until the next notification. */
  #cache = new ReadCache()
  /** Values from before the last reset that were not read since. */
  #previousCache = new ReadCache()
  #isReset = false
  #version = 0
  #controlledArray: readonly Message[] | undefined
  #controlled: ReadonlyMap<string, Message> | undefined
  #ownMessagesCache: readonly Message[] = []
  /** Older ids and ids of the fold in order, cached for one `foldIds` array. */
  #joinedIds: { readonly foldIds: readonly string[]; readonly ids: readonly string[] } | undefined
  /** Whether a part was ever read or subscribed to by itself. */
  #tracksParts = false
  /** Topics that are computed on each read. The result may be equal although an input changed. */
  readonly #readers: { readonly [K in TopicKind]?: () => unknown } = {
    order: () => (this.#controlled ? [...this.#controlled.keys()] : this.#ownIds()),
    messages: () => this.messageIds.flatMap(id => this.message(id) ?? []),
    structured: () => this.#fold.structuredIds,
    state: () => this.#fold.state,
    output: () => this.#fold.output,
    ledger: () => this.#fold.ledger(),
    pendings: () => this.#fold.pendings.map(pending => this.#withDisplayId(pending)),
  }

  // Created once, not for each notification.
  readonly #invalidate = (kind: TopicKind, id: string): void => this.#cache.invalidate(kind, id)
  readonly #notifyTopic = (kind: TopicKind, id: string): void => this.#listeners.notify(kind, id)

  constructor({ flushIntervalMs = FLUSH_MS, view }: StoreOptions = {}) {
    this.#fold = view ? Fold.from(view) : new Fold()
    this.#scheduler = new FlushScheduler(flushIntervalMs, () => this.#notify())
  }

  /** Sequence of the last folded entry. */
  get head(): number {
    return this.#fold.head
  }

  /** Increases with each notification. */
  get version(): number {
    return this.#version
  }

  /**
   * Replaces the fold by a view. Equal values keep their identity. `firstId` is the first message of a view that has only the last ones:
   * if it is already in the store, the messages before it stay, and the result is true.
   */
  restore(view: View, firstId?: string): boolean {
    const ids = firstId === undefined ? [] : this.#ownIds()
    const before = ids.slice(0, Math.max(0, ids.indexOf(firstId as string)))
    this.#older = new Map(before.map(id => [id, this.#ownMessage(id) as Message]))
    this.#joinedIds = undefined
    this.#fold = Fold.from(view)
    this.#isReset = true
    this.#scheduler.schedule()
    return before.length > 0
  }

  /** Folds entries. `through` is the sequence that their frame reaches. Returns false if a rewind among them needs a snapshot. */
  apply(entries: readonly Entry[], through?: number): boolean {
    const isFolded = this.fold(entries, through)
    this.#scheduler.schedule()
    return isFolded
  }

  /** Folds some entries of a frame, without a notification before `apply` gets the rest. */
  fold(entries: readonly Entry[], through?: number): boolean {
    return this.#fold.apply(entries, through) === undefined
  }

  /** Current tool call of a message, not cached until the next notification. */
  call(messageId: string, toolCallId: string): ToolPart | undefined {
    return this.#fold.part(this.#foldIdOf(messageId), `tool:${toolCallId}`) as ToolPart | undefined
  }

  /** Current run, not cached until the next notification. */
  run(runId: string): Run | undefined {
    return this.#fold.run(runId)
  }

  /** Adds an optimistic message. The message of the log with the same id replaces it. */
  add(message: Message): void {
    this.#localMessages.set(message.id, message)
    this.#markChanged(message.id)
  }

  /** Removes an optimistic message. */
  remove(id: string): void {
    this.#localMessages.delete(id)
    this.#markChanged(id)
  }

  /** Overrides fields of a message. */
  patch(id: string, patch: Partial<Message>): void {
    this.#localMessages.patch(id, patch)
    this.#markChanged(id)
  }

  /** Gives a message of the log another id. */
  rename(foldId: string, id: string): void {
    this.#displayIds.set(foldId, id)
    this.#foldIds.set(id, foldId)
    this.#joinedIds = undefined
    this.#markChanged(id)
  }

  /** Adds older messages before those of the view. */
  prepend(messages: readonly Message[]): void {
    this.#older = new Map([...messages.map(message => [message.id, message] as const), ...this.#older])
    this.#joinedIds = undefined
    this.#markChanged(...messages.map(({ id }) => id))
  }

  /** Notifies the listeners of all changes now. */
  flush(): void {
    this.#scheduler.flush()
  }

  /** Calls the listener when the topic changes, at most once per `flushIntervalMs`. Returns a function that unsubscribes. */
  subscribe(topic: Topic, listener: () => void): () => void {
    const [kind, id, key] = topic
    this.#tracksParts ||= key !== undefined
    return this.#listeners.add(kind, key === undefined ? id : partTopicId(id as string, key), listener)
  }

  /** Message ids in order. The same array until a message is added, removed or moved. */
  get messageIds(): readonly string[] {
    return this.#read('order')
  }

  #ownIds(): readonly string[] {
    const foldIds = this.#fold.messageIds
    if (this.#joinedIds?.foldIds !== foldIds) this.#joinedIds = { foldIds, ids: this.#joinIds(foldIds) }
    const { ids } = this.#joinedIds
    const queued = queuedMessages(this.#fold.waiting).map(({ id }) => id)
    const added = [...new Set([...queued, ...this.#localMessages.keys()])].filter(id => !this.#loggedMessage(id))
    return added.length === 0 ? ids : [...ids, ...added]
  }

  /** Merges older messages with those of the fold by their position in the log: messages of open runs may be older than a page. */
  #joinIds(foldIds: readonly string[]): readonly string[] {
    const ids: string[] = []
    let next = 0
    for (const [id, { at }] of this.#older) {
      if (this.#loggedMessage(id)) continue
      while (next < foldIds.length && (this.#fold.message(foldIds[next] as string) as Message).at < at)
        ids.push(foldIds[next++] as string)
      ids.push(id)
    }
    if (ids.length + this.#displayIds.size === 0) return foldIds
    return [...ids, ...foldIds.slice(next)].map(id => this.#displayIds.get(id) ?? id)
  }

  /** Message by id. The same object until it changes. */
  message(id: string): Message | undefined {
    return this.#read('message', id, () => (this.#controlled ? this.#controlled.get(id) : this.#ownMessage(id)))
  }

  #ownMessage(id: string): Message | undefined {
    const message =
      this.#loggedMessage(id) ?? this.#older.get(id) ?? this.#localMessages.get(id) ?? this.#queuedMessage(id)
    return this.#localMessages.patched(id, message)
  }

  /** Message of a queued request. It cannot be older than the run that it waits for. */
  #queuedMessage(id: string): Message | undefined {
    return queuedMessages(this.#fold.waiting, this.ledger.runs.at(-1)?.startedAt).find(message => message.id === id)
  }

  /** Message of the log, with its display id. */
  #loggedMessage(id: string): Message | undefined {
    const message = this.#fold.message(this.#foldIdOf(id))
    return message === undefined || message.id === id ? message : { ...message, id }
  }

  #withDisplayId(pending: Pending): Pending {
    const id = 'messageId' in pending && this.#displayIds.get(pending.messageId)
    return id ? { ...pending, messageId: id } : pending
  }

  #foldIdOf(id: string): string {
    return this.#foldIds.get(id) ?? id
  }

  /** All messages in order. The same array until one of them changes. */
  get messages(): readonly Message[] {
    return this.#read('messages')
  }

  /** Messages of the log and optimistic ones, also while `control` overrides them. The same array until one of them changes. */
  get ownMessages(): readonly Message[] {
    if (!this.#controlled) return this.messages
    this.#ownMessagesCache = shareStructure(
      this.#ownMessagesCache,
      this.#ownIds().flatMap(id => this.#ownMessage(id) ?? []),
    )
    return this.#ownMessagesCache
  }

  /** Replaces the visible messages by the caller's own, as for a controlled input. `undefined` ends it. */
  control(messages: readonly Message[] | undefined): void {
    if (messages === this.#controlledArray) return
    this.#controlledArray = messages
    this.#controlled = messages && new Map(messages.map(message => [message.id, message]))
    this.#isReset = true
    this.flush()
  }

  /** Part of a message. The same object until it changes. */
  part(messageId: string, key: string): Part | undefined {
    this.#tracksParts = true
    return this.#read('part', partTopicId(messageId, key), () => {
      const part = this.#controlled ? undefined : this.#fold.part(this.#foldIdOf(messageId), key)
      return part ?? this.message(messageId)?.parts.find(part => part.key === key)
    })
  }

  /** Text that a streaming part gained since a mark, without reading the rest. Undefined without such a part. */
  textSince(messageId: string, key: string, since?: TextMark): TextGrowth | undefined {
    return this.#fold.textSince(this.#foldIdOf(messageId), key, since)
  }

  /** Ids of the structured objects. */
  get structuredIds(): readonly string[] {
    return this.#read('structured')
  }

  /** Structured object by id. The same object until it changes. */
  structured(streamId: string): StructuredObject | undefined {
    return this.#read('structured', streamId, () => this.#fold.structured(streamId))
  }

  /** State shared by agents and clients. */
  get state(): Json | undefined {
    return this.#read('state')
  }

  /** Structured output of the last run that has one. */
  get output(): Json | undefined {
    return this.#read('output')
  }

  /** Runs, requests, agents, interrupts and usage. */
  get ledger(): LedgerView {
    return this.#read('ledger')
  }

  /** Approvals, client tools and interrupts that wait for an answer. The same array until they change. */
  get pendings(): readonly Pending[] {
    return this.#read('pendings')
  }

  /** The view of the session, as plain JSON. */
  view(): View {
    return this.#fold.view()
  }

  /** Reads a value once, and returns the same until the next notification about it. */
  #read<T>(kind: TopicKind, id?: string, read = this.#readers[kind] as () => unknown): T {
    let value = this.#cache.get(kind, id)
    if (value === STALE) {
      value = read()
      // Each previous value is compared once: later it is outdated.
      value = shareStructure(this.#previousCache.get(kind, id), value)
      this.#previousCache.invalidate(kind, id)
      this.#cache.set(kind, id, value)
    }
    return value as T
  }

  #markChanged(...ids: string[]): void {
    for (const id of ids) this.#changedIds.add(id)
    this.#scheduler.schedule()
  }

  /** Invalidates the cached values that changed, then notifies their listeners. */
  #notify(): void {
    this.#version++
    const change = this.#fold.takeChanges()
    const isReset = change.all || this.#isReset
    if (isReset || change.order || change.ledger || this.#changedIds.size > 0) {
      for (const id of this.#localMessages.keys()) if (this.#isSuperseded(id)) this.#localMessages.delete(id)
    }
    // A new set: changes that listeners make below belong to the next notification.
    const changedIds = this.#changedIds
    if (changedIds.size > 0) this.#changedIds = new Set()
    if (isReset) {
      this.#isReset = false
      this.#previousCache = this.#cache
      this.#cache = new ReadCache()
      this.#listeners.notifyAll()
      return
    }
    // Invalidates everything first: a listener of one topic may read another.
    const { messages, order, structured, state, output, ledger } = change
    this.#visitChanges(change, changedIds, this.#invalidate)
    const hasLocalChanges = changedIds.size > 0
    const changedKinds: TopicKind[] = []
    if (ledger) {
      // The fold shares unchanged parts of it. A comparison would cost time for each run.
      this.#cache.invalidate('ledger')
      changedKinds.push('ledger')
    }
    if (structured.size > 0) this.#refresh('structured', changedKinds)
    if (state) this.#refresh('state', changedKinds)
    if (output) this.#refresh('output', changedKinds)
    if (order || ledger || hasLocalChanges) this.#refresh('order', changedKinds)
    // Pendings come from tool calls in messages and from interrupts in the ledger.
    if (ledger || hasToolCall(messages)) this.#refresh('pendings', changedKinds)
    const hasChangedMessage = messages.size > 0 || hasLocalChanges || changedKinds.includes('order')
    if (hasChangedMessage) this.#cache.invalidate('messages')
    this.#visitChanges(change, changedIds, this.#notifyTopic)
    if (hasChangedMessage) this.#listeners.notify('messages')
    for (const kind of changedKinds) this.#listeners.notify(kind)
    this.#listeners.notify('any')
  }

  /** Whether the log replaces an optimistic message: it holds the message itself, or its request unless that still waits as sent. */
  #isSuperseded(id: string): boolean {
    if (this.#loggedMessage(id)) return true
    const request = this.#fold.ledger().requests.findLast(({ message }) => message?.messageId === id)
    if (!request || (request.status === 'waiting' && this.#localMessages.get(id)?.status === 'sending')) return false
    this.#changedIds.add(id)
    return true
  }

  /** Visits each changed topic that has an id. */
  #visitChanges(
    { messages, structured }: Change,
    changedIds: Set<string>,
    visit: (kind: TopicKind, id: string) => void,
  ): void {
    for (const foldId of messages.keys()) {
      const id = this.#displayIds.get(foldId) ?? foldId
      changedIds.delete(id)
      visit('message', id)
      if (this.#tracksParts) for (const key of messages.get(foldId) ?? []) visit('part', partTopicId(id, key))
    }
    if (changedIds.size > 0) for (const id of changedIds) visit('message', id)
    if (structured.size > 0) for (const id of structured) visit('structured', id)
  }

  /** Computes a cached topic again, and adds it to `changedKinds` unless the result is equal. */
  #refresh(kind: TopicKind, changedKinds: TopicKind[]): void {
    const old = this.#cache.get(kind)
    if (old !== STALE) {
      const next = (this.#readers[kind] as () => unknown)()
      // The fold returns a new list only if a message was added, removed or moved.
      const value = next === this.#fold.messageIds ? next : shareStructure(old, next)
      if (value === old) return
      this.#cache.set(kind, undefined, value)
    }
    changedKinds.push(kind)
  }
}

/** Returns `next` with all equal parts taken from `old`, so that comparisons by identity see no change. */
function shareStructure<T>(old: unknown, next: T): T {
  if (Object.is(old, next)) return next
  if (typeof old !== 'object' || typeof next !== 'object' || !old || !next) return next
  if (Array.isArray(old) !== Array.isArray(next)) return next
  if (Array.isArray(old) && Array.isArray(next)) {
    const items = next.map((item, i) => shareStructure(old[i], item))
    return (items.length === old.length && items.every((item, i) => Object.is(item, old[i])) ? old : items) as T
  }
  const before = old as Record<string, unknown>
  const has = (name: string) => Object.hasOwn(before, name)
  const fields = Object.entries(next).map(([name, value]) => [
    name,
    has(name) ? shareStructure(before[name], value) : value,
  ])
  const isSame = ([name, value]: unknown[]) => has(name as string) && Object.is(value, before[name as string])
  const isAll = fields.length === Object.keys(before).length && fields.every(isSame)
  return (isAll ? old : Object.fromEntries(fields)) as T
}
