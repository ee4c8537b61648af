// The ledger: runs, their agents and hooks, requests, interrupts and usage. It is append-only: no discard and no rewind reverts any of it
// (law 3).

import type { Chunk, Usage } from '../catalogue/chunk.ts'
import { types } from '../catalogue/field-types.ts'
import { type Entry, isGuest, type WriterOrigin } from '../entry/entry.ts'
import { isOfAgent } from '../lane/draft-tracker.ts'
import { fieldsOf, joinNames, pick } from './fields.ts'
import type { Agent, Hook, Interrupt, Run, RunRequest, View } from './view.ts'

/** Reserved for the message ids of agents, so that a complete message cannot replace the message of an agent. */
export const AGENT_MARK = '::'

/** The id of an agent's message in a run. */
export const messageIdOf = (runId: string, agentId: string): string => joinNames(runId, AGENT_MARK, agentId)

const COUNTS = Object.keys(types.usage.fields) as (keyof Usage)[]

function sum(a: Usage, b: Usage | undefined): Usage {
  const total = { ...a }
  for (const count of COUNTS) if (b?.[count] !== undefined) total[count] = (total[count] ?? 0) + b[count]
  return total
}

/** The part of a view that no discard and no rewind reverts. */
export type LedgerView = Pick<View, 'runs' | 'agents' | 'requests' | 'interrupts' | 'hooks' | 'usage'>

export class Ledger {
  readonly runs = new Map<string, Run>()
  /** By message id. */
  readonly agents = new Map<string, Agent>()
  readonly #requests = new Map<string, RunRequest>()
  /** The requests that have not started. */
  readonly waiting = new Map<string, RunRequest>()
  readonly #interrupts = new Map<string, Interrupt>()
  readonly #openInterrupts = new Map<string, Interrupt>()
  /** By run, then by the first segment of the hook id, so that removing all hooks below a segment is O(1) (law 11). */
  readonly #hooks = new Map<string, Map<string, Map<string, Hook>>>()
  #usage: Usage = {}
  /** Cached arrays of the view. Undefined after a change. */
  readonly #cache: { -readonly [K in Exclude<keyof LedgerView, 'usage'>]?: LedgerView[K] | undefined } = {}

  constructor(view?: LedgerView) {
    if (!view) return
    for (const run of view.runs) this.#setRun(run)
    for (const agent of view.agents) this.agents.set(messageIdOf(agent.runId, agent.agentId), agent)
    for (const request of view.requests) this.#setRequest(request)
    for (const interrupt of view.interrupts) this.#setInterrupt(interrupt)
    for (const hook of view.hooks) this.#setHook(hook)
    // Not the sum over these runs: a view may omit ended runs.
    this.#usage = view.usage
  }

  /** Whether a run has not ended. True for an unknown run. */
  isOpen(runId: string | undefined): boolean {
    const status = this.runs.get(runId as string)?.status
    return !status || status === 'running' || status === 'paused'
  }

  /** Whether a writer may write: its run and its agent have not ended (law 7). A public entry opens its run if it is not open. */
  admits(
    { origin, sequence, timestamp, internal }: Entry,
    messageId = messageIdOf((origin as WriterOrigin).runId, (origin as WriterOrigin).agentId),
  ): boolean {
    const { runId } = origin as WriterOrigin
    if (!this.isOpen(runId) || this.agents.get(messageId)?.status) return false
    if (!internal && !this.runs.has(runId)) {
      this.#setRun({ runId, status: 'running', at: sequence, startedAt: timestamp, usage: {}, discarded: {} })
      const request = this.#requests.get(runId)
      if (request?.status === 'waiting') this.#setRequest({ ...request, status: 'started' })
    }
    return true
  }

  get openInterrupts(): Interrupt[] {
    return [...this.#openInterrupts.values()]
  }

  /** Applies an entry to the ledger. Returns true if it changed, false if the entry is refused, undefined if it does not concern the ledger. */
  apply(entry: Entry, chunk: Chunk): boolean | undefined {
    switch (chunk.type) {
      case 'run-requested':
        if (this.#requests.has(chunk.runId) || this.runs.has(chunk.runId)) return false
        return this.#setRequest({
          ...fieldsOf(chunk),
          status: 'waiting',
          at: entry.sequence,
        })
      case 'stop-requested': {
        const request = this.#requests.get(chunk.runId)
        if (this.runs.has(chunk.runId) && this.isOpen(chunk.runId))
          return this.#updateRun(chunk.runId, { stopRequested: true })
        if (request?.status !== 'waiting') return false
        return this.#setRequest({ ...request, status: 'removed' })
      }
      case 'interrupt-response': {
        const interrupt = this.#interrupts.get(chunk.interruptId)
        if (interrupt?.status !== 'open') return false
        return this.#setInterrupt({ ...interrupt, status: 'answered', response: chunk.response })
      }
    }
    return isGuest(entry.origin) ? undefined : this.#applyWriter(entry, chunk, entry.origin)
  }

  #applyWriter(entry: Entry, chunk: Chunk, { runId, lane, agentId }: WriterOrigin): boolean | undefined {
    const { sequence: at, timestamp } = entry
    const run = this.runs.get(runId) as Run
    switch (chunk.type) {
      case 'run-started':
        return this.#updateRun(runId, { at, ...fieldsOf(chunk) })
      case 'run-paused':
        return this.#updateRun(runId, { status: 'paused', ...pick(chunk, 'reason', 'awaits') })
      case 'run-resumed':
        return this.#updateRun(runId, { status: 'running' })
      case 'executor-superseded':
        return this.#updateRun(runId, { takeovers: (run.takeovers ?? 0) + 1 })
      case 'checkpoint-created': {
        const { takeovers, ...rest } = run
        return takeovers === undefined ? undefined : this.#setRun(rest)
      }
      case 'run-finished':
        this.#voidInterrupts(runId)
        // The run never restarts. A run that continues it reads its entries.
        this.#hooks.delete(runId)
        this.#cache.hooks = undefined
        return this.#updateRun(runId, { finishedAt: timestamp, ...pick(chunk, 'status', 'checkpointId', 'reason') })
      case 'step-finish':
        this.#usage = sum(this.#usage, chunk.usage)
        return this.#updateRun(runId, { usage: sum(run.usage, chunk.usage) })
      case 'step-discarded':
        return this.#updateRun(runId, { discarded: sum(run.discarded, chunk.usage) })
      case 'subagent-start':
      case 'subagent-end': {
        const id = messageIdOf(runId, chunk.agentId)
        const existing = this.agents.get(id)
        const isEnd = chunk.type === 'subagent-end'
        // The root agent is not a child, and no agent is its own child.
        if (chunk.agentId === runId || (isEnd ? existing?.status : existing || chunk.agentId === agentId)) return false
        this.#cache.agents = undefined
        this.agents.set(id, {
          runId,
          parentId: agentId === chunk.agentId ? runId : agentId,
          startedAt: timestamp,
          ...fieldsOf(chunk),
          ...existing,
        })
        if (isEnd) this.#voidInterrupts(runId, chunk.agentId)
        return true
      }
      case 'interrupt':
        if (this.#interrupts.has(chunk.interruptId)) return false
        return this.#setInterrupt({
          ...fieldsOf(chunk),
          runId,
          lane,
          agentId,
          at,
          status: 'open',
        })
      case 'status':
        return this.#updateRun(runId, { note: chunk.message })
      case 'error':
        // The error of a sub-agent does not replace that of its run.
        return agentId === runId || !run.error ? this.#updateRun(runId, { error: fieldsOf(chunk) }) : undefined
      case 'run-context': {
        const { blobs, ...rest } = run
        return this.#setRun({ ...rest, context: chunk.context, ...pick(entry, 'blobs') })
      }
      case 'hook-completed':
        return this.#setHook({
          ...fieldsOf(chunk),
          runId,
          ...pick(entry, 'blobs'),
        })
    }
    return undefined
  }

  #updateRun(runId: string, fields: Partial<Run>): true {
    const old = this.runs.get(runId) as Run
    const { awaits, reason, ...rest } = old
    // `awaits` and `reason` are valid only until the status changes.
    return this.#setRun({ ...(fields.status ? rest : old), ...fields })
  }

  /** Voids the open interrupts of a run, or of one agent of it, when it ends. */
  #voidInterrupts(runId: string, agentId?: string): void {
    for (const interrupt of this.openInterrupts) {
      if (isOfAgent(interrupt, runId, agentId)) this.#setInterrupt({ ...interrupt, status: 'void' })
    }
  }

  #setRun(run: Run): true {
    this.runs.set(run.runId, run)
    this.#cache.runs = undefined
    return true
  }

  #setRequest(request: RunRequest): true {
    const { runId, status } = request
    this.#requests.set(runId, request)
    if (status === 'waiting') this.waiting.set(runId, request)
    else this.waiting.delete(runId)
    this.#cache.requests = undefined
    return true
  }

  #setInterrupt(interrupt: Interrupt): true {
    const { interruptId, status } = interrupt
    this.#interrupts.set(interruptId, interrupt)
    if (status === 'open') this.#openInterrupts.set(interruptId, interrupt)
    else this.#openInterrupts.delete(interruptId)
    this.#cache.interrupts = undefined
    return true
  }

  /** Replaces the hook with the same id. An id without `/` also removes all hooks below it, which are not replayed any more. Without a result, the hook itself is removed too. */
  #setHook(hook: Hook): true {
    const { runId, hookId, result } = hook
    const [first] = hookId.split('/') as [string]
    const ofRun = this.#hooks.get(runId) ?? new Map<string, Map<string, Hook>>()
    const siblings = (first !== hookId && ofRun.get(first)) || new Map<string, Hook>()
    if (first === hookId && result === undefined) ofRun.delete(first)
    else ofRun.set(first, siblings.set(hookId, hook))
    if (ofRun.size) this.#hooks.set(runId, ofRun)
    else this.#hooks.delete(runId)
    this.#cache.hooks = undefined
    return true
  }

  /** The complete ledger. An array is the same until something in it changes. */
  view(): LedgerView {
    const cache = this.#cache
    cache.runs ??= [...this.runs.values()]
    cache.agents ??= [...this.agents.values()]
    cache.requests ??= [...this.#requests.values()]
    cache.interrupts ??= [...this.#interrupts.values()]
    cache.hooks ??= [...this.#hooks.values()].flatMap(ofRun =>
      [...ofRun.values()].flatMap(ofAgent => [...ofAgent.values()]),
    )
    const { runs, agents, requests, interrupts, hooks } = cache
    return { runs, agents, requests, interrupts, hooks, usage: this.#usage }
  }
}
