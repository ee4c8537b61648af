// Checks what an attached reader sees: text only grows, except for discards of its lane; finished parts do not change;
// calls only move forward; and a run has one end with nothing after it.

import {
  type Entry,
  Fold,
  isGuest,
  type Json,
  type JsonObject,
  type Part,
  type StructuredObject,
  type TextPart,
  type ToolPart,
  type ToolState,
} from '@millrace/protocol'

/** The states of a call in order. The last ones are final. */
const RANK: Record<ToolState, number> = {
  'input-streaming': 0,
  'input-available': 1,
  'approval-requested': 2,
  'approval-responded': 3,
  'output-available': 4,
  'output-error': 4,
  'output-denied': 4,
}

export interface ReaderChecksOptions {
  /** The complete text of a part, if known. The shown text must be a prefix of it. */
  readonly completeText?: (messageId: string, key: string) => string | undefined
}

/** Follows a session entry by entry. @throws if the entries are not consistent. */
export class ReaderChecks {
  readonly #completeText: NonNullable<ReaderChecksOptions['completeText']>
  readonly #fold: Fold
  readonly #seen = new Map<string, ReadonlyMap<string, Part>>()
  readonly #objects = new Map<string, StructuredObject>()
  readonly #ended = new Map<string, string>()
  readonly #started = new Set<string>()
  readonly #endedAgents = new Set<string>()
  #head = 0
  #count = 0

  constructor({ completeText = () => undefined }: ReaderChecksOptions = {}) {
    this.#completeText = completeText
    this.#fold = new Fold({
      onReport: ({ code, entry }) => fail(entry, `the fold dropped it as ${code}`),
    })
  }

  /** The last entry. */
  get head(): number {
    return this.#head
  }

  /** Number of entries. */
  get count(): number {
    return this.#count
  }

  /** Runs that have started. */
  get started(): ReadonlySet<string> {
    return this.#started
  }

  /** The end status of each run. */
  get ended(): ReadonlyMap<string, string> {
    return this.#ended
  }

  /** Checks the next entry. */
  onEntry(entry: Entry): void {
    const { sequence, origin, chunk } = entry
    if (sequence <= this.#head) fail(entry, `expected a sequence above ${this.#head}`)
    this.#head = sequence
    this.#count++
    if (chunk.type === 'rewind') fail(entry, 'no rewind was requested')
    if (!isGuest(origin)) this.#checkRun(entry, origin.runId)
    if (this.#fold.apply([entry])) fail(entry, 'the fold needs earlier entries')
    const isDiscard = chunk.type === 'step-discarded'
    const { messages, order, structured } = this.#fold.takeChanges()
    for (const id of order ? new Set([...messages.keys(), ...this.#seen.keys()]) : messages.keys()) {
      this.#checkMessage(entry, id, isDiscard)
    }
    // An invalid or replaced object is invalidated by its stream id.
    const invalidated = chunk.type === 'structured-data-invalidated' ? chunk.streamId : undefined
    for (const id of structured) this.#checkObject(entry, id, isDiscard || id === invalidated)
  }

  #checkRun(entry: Entry, runId: string): void {
    const { chunk } = entry
    if (this.#ended.has(runId)) fail(entry, `run ${runId} has ended as ${this.#ended.get(runId)}`)
    if (chunk.type === 'run-started') {
      if (this.#started.has(runId)) fail(entry, `run ${runId} started before`)
      const open = [...this.#started].find(other => !this.#ended.has(other))
      if (open !== undefined) fail(entry, `run ${open} is open`)
      this.#started.add(runId)
    }
    if (!this.#started.has(runId)) fail(entry, `run ${runId} has not started`)
    if (chunk.type === 'run-finished') this.#ended.set(runId, chunk.status)
  }

  #checkMessage(entry: Entry, id: string, isDiscard: boolean): void {
    const before = this.#seen.get(id)
    const message = this.#fold.message(id)
    if (message === undefined) {
      if (!isDiscard) fail(entry, `message ${id} is gone`)
      this.#seen.delete(id)
      return
    }
    const parts = new Map(message.parts.map(part => [part.key, part]))
    for (const [key, part] of before ?? []) {
      const now = parts.get(key)
      if (now === part) continue
      if (!isDiscard) checkChange(entry, part, now)
      else if (now && isLarger(now, part)) fail(entry, `a discard added to part ${key}`)
    }
    for (const [key, part] of parts) {
      if (isDiscard && !before?.has(key)) fail(entry, `a discard brought part ${key}`)
      const text = textOf(part)
      const complete = text === undefined ? undefined : this.#completeText(id, key)
      if (text !== undefined && complete?.startsWith(text) === false) {
        fail(entry, `part ${key} shows ${JSON.stringify(text)}, which is not a prefix of ${JSON.stringify(complete)}`)
      }
    }
    const isOver = message.runId === undefined || this.#ended.has(message.runId)
    // The output of a sub-agent ends with it.
    const { chunk, origin } = entry
    const isChild = message.agentId !== undefined && message.agentId !== message.runId
    if (isChild && !isGuest(origin) && chunk.type === 'subagent-end') this.#endedAgents.add(chunk.agentId)
    const isEnded = isOver || (isChild && this.#endedAgents.has(message.agentId))
    if (message.status === 'sent' && !isEnded) fail(entry, `message ${id} shows as sent before its run has ended`)
    this.#seen.set(id, parts)
  }

  #checkObject(entry: Entry, streamId: string, isDiscarded: boolean): void {
    const before = this.#objects.get(streamId)
    const now = this.#fold.structured(streamId)
    if (before && !isDiscarded) {
      if (now === undefined) fail(entry, `the object ${streamId} is gone without a discard`)
      if (before.status === 'done' && JSON.stringify(before.data) !== JSON.stringify(now.data)) {
        fail(entry, `the object ${streamId} changed though it was done`)
      }
      if (!isGrown(before.data, now.data)) {
        fail(entry, `the object ${streamId} does not continue ${JSON.stringify(before.data)}`)
      }
    }
    if (now) this.#objects.set(streamId, now)
    else this.#objects.delete(streamId)
  }
}

/** Whether a value is a prefix of another while it streams. */
function isGrown(before: Json, now: Json | undefined): boolean {
  if (before === null) return true
  if (typeof before === 'string') return typeof now === 'string' && now.startsWith(before)
  if (typeof before !== 'object') return before === now
  if (typeof now !== 'object' || now === null) return false
  return Object.entries(before).every(([key, value]) => isGrown(value as Json, (now as JsonObject)[key]))
}

/** The text of a text part. */
export const textOf = (part: Part): string | undefined =>
  part.type === 'text' || part.type === 'reasoning' ? (part as TextPart).text : undefined

const isLarger = (now: Part, before: Part): boolean => (textOf(now)?.length ?? 0) > (textOf(before)?.length ?? 0)

function checkChange(entry: Entry, before: Part, now: Part | undefined): void {
  const { key } = before
  if (now === undefined) fail(entry, `part ${key} is gone without a discard`)
  if ('toolCallId' in before) checkCall(entry, before, now as ToolPart)
  const was = textOf(before)
  if (was === undefined) return
  if ((before as TextPart).state === 'done') fail(entry, `part ${key} changed though it was done`)
  if (!textOf(now)?.startsWith(was)) fail(entry, `part ${key} does not continue ${JSON.stringify(was)}`)
}

function checkCall(entry: Entry, before: ToolPart, now: ToolPart): void {
  const { toolCallId } = before
  if (RANK[now.state] < RANK[before.state]) fail(entry, `call ${toolCallId} went from ${before.state} to ${now.state}`)
  if (RANK[before.state] === 4) fail(entry, `call ${toolCallId} changed after its outcome`)
  if (before.state !== 'input-streaming' && JSON.stringify(before.input) !== JSON.stringify(now.input)) {
    fail(entry, `the input of call ${toolCallId} changed`)
  }
}

function fail({ sequence, chunk }: Entry, problem: string): never {
  throw new Error(`entry ${sequence}, ${JSON.stringify(chunk)}: ${problem}`)
}
