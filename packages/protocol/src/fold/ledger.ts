// The ledger: runs, requests, interrupts, hooks and usage. It only goes forward: no discard and no rewind takes any of it back (law 3).

import type { Chunk, Usage } from '../catalogue/chunk.ts'
import type { Entry, WriterOrigin } from '../entry.ts'
import { bodyOf, pick } from './body.ts'
import type { Agent, Hook, Interrupt, Request, Run, View } from './view.ts'

const sum = (a: Usage, b: Usage | undefined): Usage => {
  const total: Usage = { ...a }
  for (const key in b) total[key as keyof Usage] = (total[key as keyof Usage] ?? 0) + (b[key as keyof Usage] ?? 0)
  return total
}

/** What only the ids of agents' messages hold, so that none that came whole can stand in an agent's place. */
export const AGENT_MARK = '::'

/** The id of an agent's message in a run: another for every two of them, whatever they are called. */
export const messageIdOf = (runId: string, agentId: string): string =>
  `${runId.replace(/[%:]/g, char => (char === '%' ? '%25' : '%3A'))}${AGENT_MARK}${agentId}`

type LedgerView = Pick<View, 'runs' | 'requests' | 'interrupts' | 'hooks' | 'usage'>

export class Ledger {
  readonly runs = new Map<string, Run>()
  readonly #agents = new Map<string, Agent>()
  readonly #requests = new Map<string, Request>()
  readonly #interrupts = new Map<string, Interrupt>()
  readonly #open = new Set<string>()
  readonly #hooks: Hook[]

  constructor(view?: LedgerView) {
    for (const run of view?.runs ?? []) {
      this.runs.set(run.runId, run)
      for (const agent of run.agents) this.#agents.set(messageIdOf(run.runId, agent.agentId), agent)
    }
    for (const request of view?.requests ?? []) this.#requests.set(request.runId, request)
    for (const interrupt of view?.interrupts ?? []) this.#ask(interrupt)
    this.#hooks = [...(view?.hooks ?? [])]
  }

  /** An entry opens its run if nobody else did. */
  open(runId: string, { sequence, timestamp }: Entry): void {
    if (this.runs.has(runId)) return
    const run: Run = {
      runId,
      status: 'running',
      at: sequence,
      startedAt: timestamp,
      usage: {},
      discarded: {},
      agents: [],
    }
    this.runs.set(runId, run)
    const request = this.#requests.get(runId)
    if (request?.status === 'waiting') this.#requests.set(runId, { ...request, status: 'started' })
  }

  isOpen(runId: string): boolean {
    const status = this.runs.get(runId)?.status
    return status === 'running' || status === 'paused'
  }

  /** The sub-agent of a message, if it is of one. */
  agent(messageId: string): Agent | undefined {
    return this.#agents.get(messageId)
  }

  get openInterrupts(): Interrupt[] {
    return [...this.#open].map(id => this.#interrupts.get(id) as Interrupt)
  }

  /** Takes down what an entry says for the ledger: true where it did, false where that does not fit, undefined where it says nothing. */
  apply(entry: Entry, chunk: Chunk): boolean | undefined {
    const { sequence: at, timestamp } = entry
    const { runId, lane, agentId: parentId } = entry.origin as WriterOrigin
    const run = this.runs.get(runId)
    switch (chunk.type) {
      case 'run-requested':
        if (this.#requests.has(chunk.runId) || this.runs.has(chunk.runId)) return false
        this.#requests.set(chunk.runId, { ...bodyOf(chunk), status: 'waiting', at })
        return true
      case 'stop-requested': {
        const request = this.#requests.get(chunk.runId)
        if (this.isOpen(chunk.runId)) return this.#set(chunk.runId, { stopRequested: true })
        if (request?.status !== 'waiting') return false
        this.#requests.set(chunk.runId, { ...request, status: 'removed' })
        return true
      }
      case 'interrupt-response': {
        const interrupt = this.#interrupts.get(chunk.interruptId)
        if (interrupt?.status !== 'open') return false
        return this.#ask({ ...interrupt, status: 'answered', response: chunk.response })
      }
    }
    // The rest is for writers.
    if (run === undefined || parentId === undefined) return undefined
    switch (chunk.type) {
      case 'run-started':
        return this.#set(runId, bodyOf(chunk))
      case 'run-paused':
        return this.#set(runId, { ...bodyOf(chunk), status: 'paused' })
      case 'run-resumed':
        return this.#set(runId, { status: 'running' })
      case 'run-finished':
        for (const interrupt of this.openInterrupts) {
          if (interrupt.runId === runId) this.#ask({ ...interrupt, status: 'void' })
        }
        return this.#set(runId, { ...bodyOf(chunk), finishedAt: timestamp })
      case 'step-finish':
        return this.#set(runId, { usage: sum(run.usage, chunk.usage) })
      case 'step-discarded':
        return this.#set(runId, { discarded: sum(run.discarded, chunk.usage) })
      case 'subagent-start':
      case 'subagent-end': {
        const id = messageIdOf(runId, chunk.agentId)
        const known = this.agent(id)
        if (known && (known.status || chunk.type === 'subagent-start')) return false
        const agent: Agent = { parentId, startedAt: timestamp, ...known, ...bodyOf(chunk) }
        this.#agents.set(id, agent)
        return this.#set(runId, { agents: [...run.agents.filter(other => other !== known), agent] })
      }
      case 'interrupt':
        if (this.#interrupts.has(chunk.interruptId)) return false
        return this.#ask({ ...bodyOf(chunk), runId, lane, at, status: 'open' })
      case 'status':
        return this.#set(runId, { note: chunk.message })
      case 'error':
        return this.#set(runId, { error: bodyOf(chunk) })
      case 'run-context':
        return this.#set(runId, { ...bodyOf(chunk), ...pick(entry, 'blobs') })
      case 'hook-completed':
        this.#hooks.push({ ...bodyOf(chunk), runId, ...pick(entry, 'blobs') })
        return true
    }
    return undefined
  }

  #set(runId: string, fields: Partial<Run>): true {
    const old = this.runs.get(runId) as Run
    const { awaits, reason, ...rest } = old
    // What a run waits for, and why, holds only until it goes on.
    this.runs.set(runId, { ...(fields.status ? rest : old), ...fields })
    return true
  }

  #ask(interrupt: Interrupt): true {
    this.#interrupts.set(interrupt.interruptId, interrupt)
    if (interrupt.status === 'open') this.#open.add(interrupt.interruptId)
    else this.#open.delete(interrupt.interruptId)
    return true
  }

  view(): LedgerView {
    const runs = [...this.runs.values()]
    return {
      runs,
      requests: [...this.#requests.values()],
      interrupts: [...this.#interrupts.values()],
      hooks: [...this.#hooks],
      usage: runs.reduce((total, run) => sum(total, run.usage), {} as Usage),
    }
  }
}
