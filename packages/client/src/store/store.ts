import {
  type Change,
  type Entry,
  Fold,
  type Json,
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
import type { LedgerView } from '@millrace/protocol/internal'
import { FLUSH_MS, FlushScheduler } from '../notify/flush-scheduler.ts'
import { Listeners } from '../notify/listeners.ts'
import { LocalMessages, waitingOf } from './local-messages.ts'

/** Stands for what is to be read anew. */
const STALE = Symbol()

/** What is shown, by its kind and its id, if it has one. */
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

  /** It is to be read anew, if anybody has read it. */
  forget(kind: string, id?: string): void {
    const values = this.#kinds.get(kind)
    // It keeps its place: a map that is deleted from and added to again and again is made anew as often.
    if (values?.has(id)) values.set(id, STALE)
  }
}

export interface StoreOptions {
  /** How often those who show something are told of changes at most, in milliseconds; 16, if nothing is said. */
  readonly flushInterval?: number | undefined
  /** What to begin with. */
  readonly view?: View | undefined
}

/**
 * What somebody can listen to: `order` (which messages there are), `messages` (all of them), `message` (by id), `part` (by message and key), `structured` (which
 * objects there are, or one by its id), `state`, `output`, `ledger` (runs, requests, usage), `pendings`, or `any` change.
 */
export type Topic =
  | readonly ['order' | 'messages' | 'structured' | 'state' | 'output' | 'ledger' | 'pendings' | 'any']
  | readonly ['message' | 'structured', id: string]
  | readonly ['part', messageId: string, key: string]

type TopicKind = Topic[0]

/** Whether a call is among the parts that have changed. */
function hasCall(messages: Change['messages']): boolean {
  for (const keys of messages.values()) for (const key of keys) if (key.startsWith('tool:')) return true
  return false
}

const partName = (messageId: string, key: string): string => `${key.length} ${key} ${messageId}`

/**
 * A session as a screen needs it: the fold, what is on its way to the server, and who wants to know of what. A delta costs the same
 * however much there is; who shows a message or a part is told at most once a frame, and nobody else is (law 11).
 */
export class Store {
  readonly #topics = new Listeners()
  readonly #flush: FlushScheduler
  readonly #local = new LocalMessages()
  #older = new Map<string, Message>()
  #touched = new Set<string>()
  /** The ids under which messages are shown, by those of the fold; and the other way round. */
  readonly #names = new Map<string, string>()
  readonly #owns = new Map<string, string>()
  #fold: Fold
  /** What is shown until somebody is told of a change. */
  #shown = new ReadCache()
  /** What was shown before everything was read anew, and was not read since. */
  #before = new ReadCache()
  #isAnew = false
  #version = 0
  #given: readonly Message[] | undefined
  #controlled: ReadonlyMap<string, Message> | undefined
  #own: readonly Message[] = []
  /** The ids of the fold and of what came before them, in order, and the fold's own that they were put together with. */
  #joined: { readonly own: readonly string[]; readonly ids: readonly string[] } | undefined
  /** Whether anybody ever asked for a part by itself. */
  #hasParts = false
  /** What is put together for each read, and may say the same though something of it has changed. */
  readonly #made: { readonly [K in TopicKind]?: () => unknown } = {
    order: () => (this.#controlled ? [...this.#controlled.keys()] : this.#ownIds()),
    messages: () => this.messageIds.flatMap(id => this.message(id) ?? []),
    structured: () => this.#fold.structuredIds,
    state: () => this.#fold.state,
    output: () => this.#fold.output,
    ledger: () => this.#fold.ledger(),
    pendings: () => this.#fold.pendings.map(pending => this.#named(pending)),
  }

  // Made once, not for each telling.
  readonly #forget = (kind: TopicKind, id: string): void => this.#shown.forget(kind, id)
  readonly #announce = (kind: TopicKind, id: string): void => this.#topics.tell(kind, id)

  constructor({ flushInterval = FLUSH_MS, view }: StoreOptions = {}) {
    this.#fold = view ? Fold.from(view) : new Fold()
    this.#flush = new FlushScheduler(flushInterval, () => this.#tell())
  }

  /** Up to where entries have been folded. */
  get head(): number {
    return this.#fold.head
  }

  /** Another number after each time somebody was told of changes. */
  get version(): number {
    return this.#version
  }

  /**
   * Goes on from a view; what says the same as before stays the same object. Of a view with the last messages only, the first of those
   * may be one that was shown: what was shown before that goes on to be, and the answer is true.
   */
  restore(view: View, first?: string): boolean {
    const ids = first === undefined ? [] : this.#ownIds()
    const before = ids.slice(0, Math.max(0, ids.indexOf(first as string)))
    this.#older = new Map(before.map(id => [id, this.#ownMessage(id) as Message]))
    this.#joined = undefined
    this.#fold = Fold.from(view)
    this.#isAnew = true
    this.#flush.note()
    return before.length > 0
  }

  /** Folds entries; false where a rewind among them needs a view to go on from. */
  apply(entries: readonly Entry[], through?: number): boolean {
    const isWhole = this.fold(entries, through)
    this.#flush.note()
    return isWhole
  }

  /** Folds some entries of a frame, of which nobody is told before `apply` has the rest. */
  fold(entries: readonly Entry[], through?: number): boolean {
    return this.#fold.apply(entries, through) === undefined
  }

  /** A call of a message as the fold has it by now. */
  call(messageId: string, toolCallId: string): ToolPart | undefined {
    return this.#fold.part(this.#ownOf(messageId), `tool:${toolCallId}`) as ToolPart | undefined
  }

  /** A run as the fold has it by now. */
  run(runId: string): Run | undefined {
    return this.#fold.run(runId)
  }

  /** Shows a message until the log holds one of its id. */
  add(message: Message): void {
    this.#local.set(message.id, message)
    this.#touch(message.id)
  }

  /** Shows a message no more that the log does not hold. */
  remove(id: string): void {
    this.#local.delete(id)
    this.#touch(id)
  }

  /** Shows some fields of a message otherwise than the log has them. */
  patch(id: string, patch: Partial<Message>): void {
    this.#local.patch(id, patch)
    this.#touch(id)
  }

  /** Shows a message of the log under another id. */
  rename(own: string, id: string): void {
    this.#names.set(own, id)
    this.#owns.set(id, own)
    this.#joined = undefined
    this.#touch(id)
  }

  /** Shows messages from before those of the view. */
  prepend(messages: readonly Message[]): void {
    this.#older = new Map([...messages.map(message => [message.id, message] as const), ...this.#older])
    this.#joined = undefined
    this.#touch(...messages.map(({ id }) => id))
  }

  /** Tells of all changes now. */
  flush(): void {
    this.#flush.now()
  }

  /** Calls when something has changed, at most once a frame, until the returned function is called. */
  subscribe(topic: Topic, listener: () => void): () => void {
    const [kind, id, key] = topic
    this.#hasParts ||= key !== undefined
    return this.#topics.add(kind, key === undefined ? id : partName(id as string, key), listener)
  }

  /** The ids of the messages, in order; the same array until one comes, goes or moves. */
  get messageIds(): readonly string[] {
    return this.#show('order')
  }

  #ownIds(): readonly string[] {
    const own = this.#fold.messageIds
    if (this.#joined?.own !== own) this.#joined = { own, ids: this.#join(own) }
    const { ids } = this.#joined
    const waiting = waitingOf(this.#fold.waiting).map(({ id }) => id)
    const after = [...new Set([...waiting, ...this.#local.keys()])].filter(id => !this.#kept(id))
    return after.length === 0 ? ids : [...ids, ...after]
  }

  /** What came before those of the fold stands before them, but for what is still at work there: each has its place in the log. */
  #join(own: readonly string[]): readonly string[] {
    const ids: string[] = []
    let from = 0
    for (const [id, { at }] of this.#older) {
      if (this.#kept(id)) continue
      while (from < own.length && (this.#fold.message(own[from] as string) as Message).at < at)
        ids.push(own[from++] as string)
      ids.push(id)
    }
    if (ids.length + this.#names.size === 0) return own
    return [...ids, ...own.slice(from)].map(id => this.#names.get(id) ?? id)
  }

  /** A message; the same object until it changes. */
  message(id: string): Message | undefined {
    return this.#show('message', id, () => (this.#controlled ? this.#controlled.get(id) : this.#ownMessage(id)))
  }

  #ownMessage(id: string): Message | undefined {
    const kept = this.#kept(id) ?? this.#older.get(id) ?? this.#local.get(id) ?? this.#waiting(id)
    return this.#local.shown(id, kept)
  }

  /** A message that waits: it came after what it waits for. */
  #waiting(id: string): Message | undefined {
    return waitingOf(this.#fold.waiting, this.ledger.runs.at(-1)?.startedAt).find(message => message.id === id)
  }

  /** A message of the log. */
  #kept(id: string): Message | undefined {
    const message = this.#fold.message(this.#ownOf(id))
    return message === undefined || message.id === id ? message : { ...message, id }
  }

  /** What waits, of a message as it is shown. */
  #named(pending: Pending): Pending {
    const id = 'messageId' in pending && this.#names.get(pending.messageId)
    return id ? { ...pending, messageId: id } : pending
  }

  #ownOf(id: string): string {
    return this.#owns.get(id) ?? id
  }

  /** All messages, in order; the same array until one of them changes. */
  get messages(): readonly Message[] {
    return this.#show('messages')
  }

  /** The messages as the log and this client have them, also where somebody else says what is shown; the same array until one of them changes. */
  get ownMessages(): readonly Message[] {
    if (!this.#controlled) return this.messages
    this.#own = shareStructure(
      this.#own,
      this.#ownIds().flatMap(id => this.#ownMessage(id) ?? []),
    )
    return this.#own
  }

  /** Shows these messages and no others, until it is told otherwise: whoever says so keeps them. */
  control(messages: readonly Message[] | undefined): void {
    if (messages === this.#given) return
    this.#given = messages
    this.#controlled = messages && new Map(messages.map(message => [message.id, message]))
    this.#isAnew = true
    this.flush()
  }

  /** A part of a message; the same object until it changes. */
  part(messageId: string, key: string): Part | undefined {
    this.#hasParts = true
    return this.#show('part', partName(messageId, key), () => {
      const own = this.#controlled ? undefined : this.#fold.part(this.#ownOf(messageId), key)
      return own ?? this.message(messageId)?.parts.find(part => part.key === key)
    })
  }

  /** What a growing part gained since a mark, at the cost of just that; undefined where there is no such part. */
  gained(messageId: string, key: string, since?: TextMark): TextGrowth | undefined {
    return this.#fold.gained(this.#ownOf(messageId), key, since)
  }

  /** The ids of the structured objects. */
  get structuredIds(): readonly string[] {
    return this.#show('structured')
  }

  /** A structured object; the same until it changes. */
  structured(streamId: string): StructuredObject | undefined {
    return this.#show('structured', streamId, () => this.#fold.structured(streamId))
  }

  /** The state that agents and clients share. */
  get state(): Json | undefined {
    return this.#show('state')
  }

  /** The structured result of the last run that gave one. */
  get output(): Json | undefined {
    return this.#show('output')
  }

  /** Runs, requests, agents, interrupts and usage. */
  get ledger(): LedgerView {
    return this.#show('ledger')
  }

  /** What waits for somebody; the same array until that changes. */
  get pendings(): readonly Pending[] {
    return this.#show('pendings')
  }

  /** The whole view, as plain JSON. */
  view(): View {
    return this.#fold.view()
  }

  /** Reads once what is then the same until somebody is told that it has changed. */
  #show<T>(kind: TopicKind, id?: string, read = this.#made[kind] as () => unknown): T {
    let value = this.#shown.get(kind, id)
    if (value === STALE) {
      value = read()
      // Once each: what is read again has changed.
      value = shareStructure(this.#before.get(kind, id), value)
      this.#before.forget(kind, id)
      this.#shown.set(kind, id, value)
    }
    return value as T
  }

  #touch(...ids: string[]): void {
    for (const id of ids) this.#touched.add(id)
    this.#flush.note()
  }

  /** Forgets what was shown of all that has changed, then tells who shows it. */
  #tell(): void {
    this.#version++
    const change = this.#fold.takeChanges()
    const isAnew = change.all || this.#isAnew
    if (isAnew || change.order || change.ledger || this.#touched.size > 0) {
      for (const id of this.#local.keys()) if (this.#isKnown(id)) this.#local.delete(id)
    }
    // What somebody changes who is told of these is told of the next time.
    const touched = this.#touched
    if (touched.size > 0) this.#touched = new Set()
    if (isAnew) {
      this.#isAnew = false
      this.#before = this.#shown
      this.#shown = new ReadCache()
      this.#topics.tellAll()
      return
    }
    // All is read anew before anybody is told: who is told of one thing may look at another.
    const { messages, order, structured, state, output, ledger } = change
    this.#each(change, touched, this.#forget)
    const others = touched.size > 0
    const made: TopicKind[] = []
    if (ledger) {
      // The fold keeps what is the same of it: to compare all of it would cost by the number of runs.
      this.#shown.forget('ledger')
      made.push('ledger')
    }
    if (structured.size > 0) this.#remake('structured', made)
    if (state) this.#remake('state', made)
    if (output) this.#remake('output', made)
    if (order || ledger || others) this.#remake('order', made)
    // Calls and questions are what waits: the former show in messages, the latter in the ledger.
    if (ledger || hasCall(messages)) this.#remake('pendings', made)
    const isAnother = messages.size > 0 || others || made.includes('order')
    if (isAnother) this.#shown.forget('messages')
    this.#each(change, touched, this.#announce)
    if (isAnother) this.#topics.tell('messages')
    for (const kind of made) this.#topics.tell(kind)
    this.#topics.tell('any')
  }

  /** Whether the log says what is to be shown of a message, or that nothing is. */
  #isKnown(id: string): boolean {
    if (this.#kept(id)) return true
    const request = this.#fold.ledger().requests.findLast(({ message }) => message?.messageId === id)
    if (!request || (request.status === 'waiting' && this.#local.get(id)?.status === 'sending')) return false
    this.#touched.add(id)
    return true
  }

  /** All that has changed and has an id. */
  #each({ messages, structured }: Change, touched: Set<string>, visit: (kind: TopicKind, id: string) => void): void {
    for (const own of messages.keys()) {
      const id = this.#names.get(own) ?? own
      touched.delete(id)
      visit('message', id)
      if (this.#hasParts) for (const key of messages.get(own) ?? []) visit('part', partName(id, key))
    }
    if (touched.size > 0) for (const id of touched) visit('message', id)
    if (structured.size > 0) for (const id of structured) visit('structured', id)
  }

  /** Puts together anew what somebody shows, and notes it unless it says what it said. */
  #remake(kind: TopicKind, made: TopicKind[]): void {
    const old = this.#shown.get(kind)
    if (old !== STALE) {
      const next = (this.#made[kind] as () => unknown)()
      // The fold's own list is another only where a message came, went or moved.
      const value = next === this.#fold.messageIds ? next : shareStructure(old, next)
      if (value === old) return
      this.#shown.set(kind, undefined, value)
    }
    made.push(kind)
  }
}

/** The old value, or its pieces, wherever the new one says the same: who compares by identity sees no change. */
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
