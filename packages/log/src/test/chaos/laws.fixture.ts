// Checks the entries of one log as they are appended: laws 3, 4, 5, 7 and 12.

import { type Chunk, type Entry, isDraftChunk, isGuest, type WriterOrigin } from '@millrace/protocol'
import { advance, EMPTY_TICKET, mustStop, type Ticket } from '../../ticket/ticket.ts'
import { openDrafts, retractedSequences } from './log-model.fixture.ts'
import type { LogRecord } from './log-record.fixture.ts'
import { excerptOf, same } from './schedule-world.fixture.ts'

interface Request {
  readonly at: number
  readonly cut: number | undefined
  readonly isUrgent: boolean
  state: 'waiting' | 'started' | 'removed'
}

interface OpenPending {
  readonly at: number
  readonly toolCallId: string | undefined
  readonly agentId: string
}

/** A request to stop a run: by a stop, or by a request that interrupts it. */
interface Stop {
  readonly runId: string
  readonly at: number
  /** The request that interrupts the run. */
  readonly byRequest?: string
}

export class Laws {
  readonly started = new Map<string, number>()
  readonly finished = new Map<string, number>()
  readonly #log: LogRecord
  readonly #stops: Stop[] = []
  readonly #requests = new Map<string, Request>()
  readonly #pendings = new Map<string, OpenPending>()
  readonly #settled = new Set<string>()
  /** Notifications that are not confirmed. */
  readonly #notices: { readonly runId: string; readonly notifyBy: number }[] = []
  /** Lanes with text since their last commit, with their writer. */
  readonly #drafts = new Map<string, string>()
  #open: string | undefined
  #isPaused = false
  #lastEpoch: string | undefined
  #isSilent = false

  constructor(log: LogRecord) {
    this.#log = log
  }

  /** Stops that are in effect: not undone by a rewind or a withdrawn request. */
  get lastingStops(): Stop[] {
    return this.#stops.filter(
      stop => stop.byRequest === undefined || this.#requests.get(stop.byRequest)?.state !== 'removed',
    )
  }

  #violate(law: string, violation: string): void {
    if (!this.#isSilent) this.#log.world.violate(law, `${violation}, in ${this.#log.streamId}`)
  }

  /** Adds entries that were checked in another log. */
  copy(entries: readonly Entry[]): void {
    this.#isSilent = true
    for (const entry of entries) this.#apply(entry, EMPTY_TICKET)
    this.#isSilent = false
  }

  /** Checks a fork: nothing in it is open, and its ticket follows from its entries. */
  checkFork(): void {
    const { batches, ticket } = this.#log
    const rebuilt = batches.reduce((now, { entries }) => advance(now, entries), EMPTY_TICKET)
    if (!same(rebuilt, ticket))
      this.#violate('fork', `its ticket is ${excerptOf(ticket)}, rebuilt ${excerptOf(rebuilt)}`)
    if (this.#open !== undefined) this.#violate('fork', `run ${this.#open} is open in it`)
    const waiting = [...this.#requests].find(([, { state }]) => state === 'waiting')
    if (waiting) this.#violate('fork', `run ${waiting[0]} waits in it`)
  }

  /** Checks a batch that was appended at the head. */
  checkBatch(entries: readonly Entry[], by: 'writer' | 'guest', ticket: Ticket, mark: string): void {
    if (by === 'writer') this.#checkTakeover(entries, mark)
    for (const [index, entry] of entries.entries()) {
      const { chunk, origin } = entry
      if (isGuest(origin) !== (by === 'guest'))
        this.#violate('law 5', `${chunk.type} of ${by} has an origin of the other kind`)
      if (chunk.type === 'rewind') this.#checkRewind(entries, index)
      this.#apply(entry, ticket)
    }
  }

  /** Called when the writer released the log: the next claim is no takeover. */
  onRelease(): void {
    this.#lastEpoch = undefined
  }

  /** A takeover writes its preamble, and no writer extends or commits the draft of another (law 4). */
  #checkTakeover(entries: readonly Entry[], mark: string): void {
    const isFirst = this.#lastEpoch !== undefined && this.#lastEpoch !== mark
    this.#lastEpoch = mark
    const types = entries.map(({ chunk }) => chunk.type)
    if (isFirst && this.#open !== undefined && !this.#isPaused && !types.includes('executor-superseded')) {
      this.#violate('law 4', `a takeover begins with ${types}, without executor-superseded`)
    }
    for (const { origin, chunk, sequence } of entries) {
      const name = JSON.stringify(nameOf(origin as WriterOrigin))
      const isOther = this.#drafts.has(name) && this.#drafts.get(name) !== mark
      const isDraft = isDraftChunk(chunk)
      if (isOther && (isDraft || chunk.type === 'checkpoint-created')) {
        this.#violate('law 4', `${chunk.type} at ${sequence} continues a draft that another epoch left on ${name}`)
      }
      if (isDraft) this.#drafts.set(name, mark)
      else if (chunk.type === 'run-finished') this.#drafts.clear()
      else if (chunk.type === 'checkpoint-created' || chunk.type === 'step-discarded') this.#drafts.delete(name)
      else if (chunk.type === 'subagent-end') {
        for (const name of this.#drafts.keys()) {
          const [, , agentId] = JSON.parse(name) as string[]
          if (agentId === chunk.agentId) this.#drafts.delete(name)
        }
      }
    }
  }

  #checkRewind(entries: readonly Entry[], index: number): void {
    const { chunk, sequence } = entries[index] as Entry<Extract<Chunk, { type: 'rewind' }>>
    const next = entries[index + 1]
    if (index > 0 || next?.chunk.type !== 'run-started') this.#violate('law 3', `a rewind at ${sequence} begins no run`)
    if (this.#open !== undefined) this.#violate('law 3', `a rewind at ${sequence} while ${this.#open} is open`)
    const { toSequence } = chunk
    if (toSequence < this.#log.floor) this.#violate('law 12', `a rewind to ${toSequence}, which was trimmed`)
    const cutAt = this.#requests.get(next?.origin.runId ?? '')?.cut
    if (cutAt !== toSequence) this.#violate('law 3', `a rewind to ${toSequence}, but ${cutAt} was requested`)
    if (!this.#isRewindPoint(toSequence))
      this.#violate('law 3', `a rewind to ${toSequence}, which is not a rewind point`)
  }

  /** Whether the session can be rewound to this sequence: before a turn, or at a checkpoint of the main lane while nothing is open. */
  #isRewindPoint(sequence: number): boolean {
    const { entries } = this.#log
    const isRewound = entries.some(({ chunk, sequence: at }) => {
      return chunk.type === 'rewind' && chunk.toSequence < sequence && sequence < at
    })
    if (isRewound) return false
    if (entries[sequence]?.chunk.type === 'run-started') return true
    const at = entries[sequence - 1]
    if (at?.chunk.type !== 'checkpoint-created' || isGuest(at.origin)) return false
    const { runId, agentId, lane } = at.origin
    const before = entries.slice(0, sequence)
    const start = before.find(({ chunk, origin }) => chunk.type === 'run-started' && origin.runId === runId)
    const isMain = agentId === runId && start?.origin.lane === lane
    return isMain && openDrafts(before).length === 0 && !hasOpen(before)
  }

  #apply(entry: Entry, ticket: Ticket): void {
    const { chunk, origin, sequence } = entry
    if (isGuest(origin)) {
      this.#applyGuestChunk(chunk, sequence)
      return
    }
    const { runId } = origin
    switch (chunk.type) {
      case 'run-started':
        this.#start(runId, sequence)
        return
      case 'run-finished':
        if (this.#open !== runId)
          this.#violate('law 7', `run ${runId} ends at ${sequence}, but the open run is ${this.#open}`)
        if (this.finished.has(runId)) this.#violate('law 7', `run ${runId} ends again at ${sequence}`)
        if (chunk.status === 'completed' && mustStop(ticket))
          this.#violate('law 5', `run ${runId} had to stop, but completed`)
        this.finished.set(runId, sequence)
        this.#addNotice(runId, chunk.notifyBy)
        for (const key of this.#pendings.keys()) this.#settled.add(key)
        this.#pendings.clear()
        this.#open = undefined
        return
      case 'rewind':
      case 'run-requested':
        return
      case 'stop-requested':
        this.#stop(chunk.runId, sequence)
        return
    }
    if (this.#open !== runId)
      this.#violate('law 7', `${chunk.type} of ${runId} at ${sequence}, but the open run is ${this.#open}`)
    if (chunk.type === 'run-paused') {
      this.#isPaused = true
      this.#addNotice(runId, chunk.notifyBy)
    }
    if (chunk.type === 'run-resumed') this.#isPaused = false
    if (chunk.type === 'step-discarded' && mustStop(ticket)) {
      this.#violate('law 5', `a draft that readers have seen is discarded at ${sequence}, after a stop`)
    }
    const opened = pendingOf(chunk)
    if (opened) {
      const { key, toolCallId } = opened
      if (this.#pendings.has(key) || this.#settled.has(key)) this.#violate('law 5', `${key} opens again at ${sequence}`)
      this.#pendings.set(key, { at: sequence, toolCallId, agentId: origin.agentId })
    }
    if (chunk.type === 'subagent-end') this.#settle(({ agentId }) => agentId === chunk.agentId)
    else this.#answer(chunk)
  }

  #start(runId: string, sequence: number): void {
    if (this.#open !== undefined)
      this.#violate('law 7', `run ${runId} starts at ${sequence} while ${this.#open} is open`)
    if (this.started.has(runId)) this.#violate('law 7', `run ${runId} starts again at ${sequence}`)
    const request = this.#requests.get(runId)
    if (request?.state !== 'waiting')
      this.#violate('law 5', `run ${runId} starts at ${sequence}, its request is ${request?.state}`)
    // Requests that interrupt the open run come first, in their own order.
    const cut = [...this.#requests].find(([, { state, cut, at }]) => {
      return state === 'waiting' && cut !== undefined && !(request?.isUrgent && request.at < at)
    })
    if (cut && cut[0] !== runId)
      this.#violate('law 5', `run ${runId} starts at ${sequence} before the rewind of ${cut[0]}`)
    if (request) request.state = 'started'
    this.started.set(runId, sequence)
    this.#open = runId
    this.#isPaused = false
  }

  #applyGuestChunk(chunk: Chunk, sequence: number): void {
    switch (chunk.type) {
      case 'run-requested': {
        const { runId, cut, whenBusy } = chunk
        if (this.#requests.has(runId)) this.#violate('law 5', `run ${runId} is requested again at ${sequence}`)
        const isUrgent = cut !== undefined || whenBusy === 'interrupt-previous'
        this.#requests.set(runId, { at: sequence, cut: cut?.toSequence, isUrgent, state: 'waiting' })
        if (this.#open !== undefined && isUrgent) {
          this.#stops.push({ runId: this.#open, at: sequence, byRequest: runId })
        }
        return
      }
      case 'stop-requested':
        this.#stop(chunk.runId, sequence)
        return
      case 'tool-claimed':
        if (!this.#pendings.has(`client-tool:${chunk.toolCallId}`)) {
          this.#violate('law 5', `a claim of ${chunk.toolCallId} at ${sequence}, which is not pending`)
        }
        return
      case 'session-info':
        // It settles nothing. `LogRecord` compares the ticket.
        return
    }
    if (chunk.type === 'run-notified' ? this.#confirmNotice(chunk) : this.#answer(chunk)) return
    this.#violate('law 5', `${excerptOf(chunk)} at ${sequence} settles nothing`)
  }

  #addNotice(runId: string, notifyBy: number | undefined): void {
    if (notifyBy === undefined) return
    this.#notices.push({ runId, notifyBy })
    if (this.#notices.length > 16) this.#notices.shift()
  }

  /** Confirms or claims a notification. Returns false if none is pending. */
  #confirmNotice({ runId, notifyBy, until }: Extract<Chunk, { type: 'run-notified' }>): boolean {
    const at = this.#notices.findIndex(notice => notice.runId === runId && notice.notifyBy === notifyBy)
    if (at < 0) return false
    this.#notices.splice(at, 1, ...(until === undefined ? [] : [{ runId, notifyBy: until }]))
    return true
  }

  #stop(runId: string, sequence: number): void {
    const request = this.#requests.get(runId)
    if (this.#open === runId) this.#stops.push({ runId, at: sequence })
    else if (request?.state === 'waiting') request.state = 'removed'
    else this.#violate('law 5', `a stop of ${runId} at ${sequence}, which is neither open nor requested`)
  }

  /** Settles the pending that a chunk answers. Returns false if there is none. */
  #answer(chunk: Chunk): boolean {
    switch (chunk.type) {
      case 'tool-approval-response': {
        const key = `approval:${chunk.approvalId}`
        const pending = this.#pendings.get(key)
        if (pending?.toolCallId !== chunk.toolCallId) return false
        this.#settle((_, noticeKey) => noticeKey === key)
        if (!chunk.approved) this.#settle(({ toolCallId }) => toolCallId === chunk.toolCallId)
        return true
      }
      case 'interrupt-response':
        return this.#settle((_, key) => key === `interrupt:${chunk.interruptId}`)
      case 'tool-output-available':
        if (chunk.preliminary) return false
        return this.#settle(({ toolCallId }) => toolCallId === chunk.toolCallId)
      case 'tool-output-error':
      case 'tool-output-denied':
        return this.#settle(({ toolCallId }) => toolCallId === chunk.toolCallId)
      default:
        return false
    }
  }

  #settle(settles: (pending: OpenPending, key: string) => boolean): boolean {
    let hasSettled = false
    for (const [key, pending] of this.#pendings) {
      if (!settles(pending, key)) continue
      hasSettled = true
      this.#pendings.delete(key)
      this.#settled.add(key)
    }
    return hasSettled
  }

  /** A trim drops no entry that is still needed (law 12). */
  checkTrim(floor: number): void {
    const needed = [
      ...(this.#open === undefined ? [] : [this.started.get(this.#open) ?? 0]),
      ...[...this.#pendings.values()].map(({ at }) => at),
      ...[...this.#requests.values()].flatMap(({ at, cut, state }) => {
        return state === 'waiting' ? [at, ...(cut === undefined ? [] : [cut + 1])] : []
      }),
    ]
    for (const at of needed)
      if (at <= floor) this.#violate('law 12', `a trim to ${floor} drops ${at}, which is still needed`)
  }
}

const nameOf = ({ runId, lane, agentId }: WriterOrigin): string[] => [runId, lane, agentId]

function pendingOf(chunk: Chunk): { key: string; toolCallId: string | undefined } | undefined {
  switch (chunk.type) {
    case 'tool-approval-request':
      return { key: `approval:${chunk.approvalId}`, toolCallId: chunk.toolCallId }
    case 'tool-input-available':
      if (chunk.executor !== 'client') return undefined
      return { key: `client-tool:${chunk.toolCallId}`, toolCallId: chunk.toolCallId }
    case 'interrupt':
      return { key: `interrupt:${chunk.interruptId}`, toolCallId: undefined }
    default:
      return undefined
  }
}

/** Whether a call, a question or a child agent is open after these entries. */
function hasOpen(entries: readonly Entry[]): boolean {
  const retracted = retractedSequences(entries)
  const open = new Set<string>()
  for (const { chunk, sequence, origin } of entries) {
    if (retracted.has(sequence)) continue
    if (chunk.type === 'run-finished') open.clear()
    if (chunk.type === 'subagent-start') open.add(`agent ${chunk.agentId}`)
    else if (chunk.type === 'subagent-end') open.delete(`agent ${chunk.agentId}`)
    else if (chunk.type === 'interrupt') open.add(`interrupt ${chunk.interruptId}`)
    else if (chunk.type === 'interrupt-response') open.delete(`interrupt ${chunk.interruptId}`)
    else if ('toolCallId' in chunk && /^tool-input/.test(chunk.type)) open.add(`call ${chunk.toolCallId}`)
    else if ('toolCallId' in chunk && /^tool-output/.test(chunk.type) && !(isDraftChunk(chunk) && !isGuest(origin))) {
      open.delete(`call ${chunk.toolCallId}`)
    }
  }
  return open.size > 0
}
