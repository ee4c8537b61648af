// The ledger: runs, their agents and hooks, requests, interrupts and usage. It only goes forward: no discard and no rewind takes any of it
// back (law 3).

import type { Chunk, Usage } from '../catalogue/chunk.ts'
import { types } from '../catalogue/field-types.ts'
import { type Entry, isGuest, type WriterOrigin } from '../entry/entry.ts'
import { isOfAgent } from '../lane/draft-tracker.ts'
import { fieldsOf, joinNames, pick } from './fields.ts'
import type { Agent, Hook, Interrupt, Run, RunRequest, View } from './view.ts'

/** What only the ids of agents' messages hold, so that none that came whole can stand in an agent's place. */
export const AGENT_MARK = '::'

/** The id of an agent's message in a run. */
export const messageIdOf = (runId: string, agentId: string): string => joinNames(runId, AGENT_MARK, agentId)

const COUNTS = Object.keys(types.usage.fields) as (keyof Usage)[]

function sum(a: Usage, b: Usage | undefined): Usage {
  const total = { ...a }
  for (const count of COUNTS) if (b?.[count] !== undefined) total[count] = (total[count] ?? 0) + b[count]
  return total
}

/** What only goes forward. */
export type LedgerView = Pick<View, 'runs' | 'agents' | 'requests' | 'interrupts' | 'hooks' | 'usage'>

export class Ledger {
  readonly runs = new Map<string, Run>()
  /** By the ids of their messages. */
  readonly agents = new Map<string, Agent>()
  readonly #requests = new Map<string, RunRequest>()
  /** The requests that nobody has begun with. */
  readonly waiting = new Map<string, RunRequest>()
  readonly #interrupts = new Map<string, Interrupt>()
  readonly #open = new Map<string, Interrupt>()
  /** By run, and there by the first piece of their ids: what goes goes at once, however much it is (law 11). */
  readonly #hooks = new Map<string, Map<string, Map<string, Hook>>>()
  #usage: Usage = {}
  /** What was read, as long as nothing of it has changed. */
  readonly #read: { -readonly [K in Exclude<keyof LedgerView, 'usage'>]?: LedgerView[K] | undefined } = {}

  constructor(view?: LedgerView) {
    if (!view) return
    for (const run of view.runs) this.#run(run)
    for (const agent of view.agents) this.agents.set(messageIdOf(agent.runId, agent.agentId), agent)
    for (const request of view.requests) this.#request(request)
    for (const interrupt of view.interrupts) this.#ask(interrupt)
    for (const hook of view.hooks) this.#keep(hook)
    // Not the sum over these runs: a view may leave out some that have ended.
    this.#usage = view.usage
  }

  /** Whether a run has not ended; one that was never seen has not. */
  isOpen(runId: string | undefined): boolean {
    const status = this.runs.get(runId as string)?.status
    return !status || status === 'running' || status === 'paused'
  }

  /** Whether a writer may still write: its run and its agent have not ended (law 7). A public entry opens its run if nobody else did. */
  admits(
    { origin, sequence, timestamp, internal }: Entry,
    messageId = messageIdOf((origin as WriterOrigin).runId, (origin as WriterOrigin).agentId),
  ): boolean {
    const { runId } = origin as WriterOrigin
    if (!this.isOpen(runId) || this.agents.get(messageId)?.status) return false
    if (!internal && !this.runs.has(runId)) {
      this.#run({ runId, status: 'running', at: sequence, startedAt: timestamp, usage: {}, discarded: {} })
      const request = this.#requests.get(runId)
      if (request?.status === 'waiting') this.#request({ ...request, status: 'started' })
    }
    return true
  }

  get openInterrupts(): Interrupt[] {
    return [...this.#open.values()]
  }

  /** Takes down what an entry says for the ledger: true where it did, false where that does not fit, undefined where it says nothing. */
  apply(entry: Entry, chunk: Chunk): boolean | undefined {
    switch (chunk.type) {
      case 'run-requested':
        if (this.#requests.has(chunk.runId) || this.runs.has(chunk.runId)) return false
        return this.#request({
          ...fieldsOf(chunk),
          status: 'waiting',
          at: entry.sequence,
        })
      case 'stop-requested': {
        const request = this.#requests.get(chunk.runId)
        if (this.runs.has(chunk.runId) && this.isOpen(chunk.runId))
          return this.#set(chunk.runId, { stopRequested: true })
        if (request?.status !== 'waiting') return false
        return this.#request({ ...request, status: 'removed' })
      }
      case 'interrupt-response': {
        const interrupt = this.#interrupts.get(chunk.interruptId)
        if (interrupt?.status !== 'open') return false
        return this.#ask({ ...interrupt, status: 'answered', response: chunk.response })
      }
    }
    return isGuest(entry.origin) ? undefined : this.#applyWriter(entry, chunk, entry.origin)
  }

  #applyWriter(entry: Entry, chunk: Chunk, { runId, lane, agentId }: WriterOrigin): boolean | undefined {
    const { sequence: at, timestamp } = entry
    const run = this.runs.get(runId) as Run
    switch (chunk.type) {
      case 'run-started':
        return this.#set(runId, { at, ...fieldsOf(chunk) })
      case 'run-paused':
        return this.#set(runId, { status: 'paused', ...pick(chunk, 'reason', 'awaits') })
      case 'run-resumed':
        return this.#set(runId, { status: 'running' })
      case 'executor-superseded':
        return this.#set(runId, { takeovers: (run.takeovers ?? 0) + 1 })
      case 'checkpoint-created': {
        const { takeovers, ...rest } = run
        return takeovers === undefined ? undefined : this.#run(rest)
      }
      case 'run-finished':
        this.#void(runId)
        // Nobody starts this run again; who goes on from it reads its entries.
        this.#hooks.delete(runId)
        this.#read.hooks = undefined
        return this.#set(runId, { finishedAt: timestamp, ...pick(chunk, 'status', 'checkpointId', 'reason') })
      case 'step-finish':
        this.#usage = sum(this.#usage, chunk.usage)
        return this.#set(runId, { usage: sum(run.usage, chunk.usage) })
      case 'step-discarded':
        return this.#set(runId, { discarded: sum(run.discarded, chunk.usage) })
      case 'subagent-start':
      case 'subagent-end': {
        const id = messageIdOf(runId, chunk.agentId)
        const known = this.agents.get(id)
        const ends = chunk.type === 'subagent-end'
        // The root agent is no child, and nobody is their own.
        if (chunk.agentId === runId || (ends ? known?.status : known || chunk.agentId === agentId)) return false
        this.#read.agents = undefined
        this.agents.set(id, {
          runId,
          parentId: agentId === chunk.agentId ? runId : agentId,
          startedAt: timestamp,
          ...fieldsOf(chunk),
          ...known,
        })
        if (ends) this.#void(runId, chunk.agentId)
        return true
      }
      case 'interrupt':
        if (this.#interrupts.has(chunk.interruptId)) return false
        return this.#ask({
          ...fieldsOf(chunk),
          runId,
          lane,
          agentId,
          at,
          status: 'open',
        })
      case 'status':
        return this.#set(runId, { note: chunk.message })
      case 'error':
        return this.#set(runId, { error: fieldsOf(chunk) })
      case 'run-context': {
        const { blobs, ...rest } = run
        return this.#run({ ...rest, context: chunk.context, ...pick(entry, 'blobs') })
      }
      case 'hook-completed':
        return this.#keep({
          ...fieldsOf(chunk),
          runId,
          ...pick(entry, 'blobs'),
        })
    }
    return undefined
  }

  #set(runId: string, fields: Partial<Run>): true {
    const old = this.runs.get(runId) as Run
    const { awaits, reason, ...rest } = old
    // What a run waits for, and why, holds only until it goes on.
    return this.#run({ ...(fields.status ? rest : old), ...fields })
  }

  /** The end of a run, or of one agent in it, leaves nobody to answer to. */
  #void(runId: string, agentId?: string): void {
    for (const interrupt of this.openInterrupts) {
      if (isOfAgent(interrupt, runId, agentId)) this.#ask({ ...interrupt, status: 'void' })
    }
  }

  #run(run: Run): true {
    this.runs.set(run.runId, run)
    this.#read.runs = undefined
    return true
  }

  #request(request: RunRequest): true {
    const { runId, status } = request
    this.#requests.set(runId, request)
    if (status === 'waiting') this.waiting.set(runId, request)
    else this.waiting.delete(runId)
    this.#read.requests = undefined
    return true
  }

  #ask(interrupt: Interrupt): true {
    const { interruptId, status } = interrupt
    this.#interrupts.set(interruptId, interrupt)
    if (status === 'open') this.#open.set(interruptId, interrupt)
    else this.#open.delete(interruptId)
    this.#read.interrupts = undefined
    return true
  }

  /** A hook takes the place of itself and, unless its id has a `/`, of all below it: what is at its end needs no more replay, and nothing of it where it says no more than that. */
  #keep(hook: Hook): true {
    const { runId, hookId, result } = hook
    const [first] = hookId.split('/') as [string]
    const ofRun = this.#hooks.get(runId) ?? new Map<string, Map<string, Hook>>()
    const below = (first !== hookId && ofRun.get(first)) || new Map<string, Hook>()
    if (first === hookId && result === undefined) ofRun.delete(first)
    else ofRun.set(first, below.set(hookId, hook))
    if (ofRun.size) this.#hooks.set(runId, ofRun)
    else this.#hooks.delete(runId)
    this.#read.hooks = undefined
    return true
  }

  /** All of it; an array is the same until something in it changes. */
  view(): LedgerView {
    const read = this.#read
    read.runs ??= [...this.runs.values()]
    read.agents ??= [...this.agents.values()]
    read.requests ??= [...this.#requests.values()]
    read.interrupts ??= [...this.#interrupts.values()]
    read.hooks ??= [...this.#hooks.values()].flatMap(ofRun => [...ofRun.values()].flatMap(of => [...of.values()]))
    const { runs, agents, requests, interrupts, hooks } = read
    return { runs, agents, requests, interrupts, hooks, usage: this.#usage }
  }
}
