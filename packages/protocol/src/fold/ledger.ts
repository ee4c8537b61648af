// The ledger: runs, requests, interrupts and usage. It only goes forward: no discard and no rewind takes anything of it back (law 3).

import type { Chunk, Usage } from '../catalogue/chunk.ts'
import type { SubagentEndChunk, SubagentStartChunk } from '../catalogue/guards.ts'
import type { Entry, WriterOrigin } from '../entry.ts'
import { pick } from './tool.ts'
import type { Agent, Interrupt, Request, Run, View } from './view.ts'

const sum = (a: Usage, b: Usage): Usage => {
  const total: Usage = { ...a }
  for (const key of Object.keys(b) as (keyof Usage)[]) total[key] = (total[key] ?? 0) + (b[key] ?? 0)
  return total
}

const agentOf = (chunk: SubagentStartChunk | SubagentEndChunk, { origin, timestamp }: Entry): Agent => ({
  ...pick(chunk, 'agentId', 'agentType', 'toolCallId'),
  parentId: (origin as WriterOrigin).agentId,
  startedAt: timestamp,
})

type Hook = Run['hooks'][number]

/** One run, as it goes. */
export class RunRecord {
  readonly agents = new Map<string, Agent>()
  readonly #hooks: Hook[] = []
  #fields: Omit<Run, 'agents' | 'hooks'>
  #view: Run | undefined

  constructor({ agents, hooks, ...fields }: Run) {
    for (const agent of agents) this.agents.set(agent.agentId, agent)
    this.#hooks.push(...hooks)
    this.#fields = fields
  }

  get runId(): string {
    return this.#fields.runId
  }

  get status(): Run['status'] {
    return this.#fields.status
  }

  get isOpen(): boolean {
    return this.status === 'running' || this.status === 'paused'
  }

  get error(): Run['error'] {
    return this.#fields.error
  }

  /** When an agent of this run began: the run's own start for the root agent. */
  startOf(agentId: string): number {
    return this.agents.get(agentId)?.startedAt ?? this.#fields.startedAt
  }

  set(fields: Partial<Omit<Run, 'agents' | 'hooks'>>): void {
    this.#fields = { ...this.#fields, ...fields }
    this.#view = undefined
  }

  goOn(): void {
    const { awaits, ...fields } = this.#fields
    this.#fields = { ...fields, status: 'running' }
    this.#view = undefined
  }

  use(usage: Usage): void {
    this.set({ usage: sum(this.#fields.usage, usage) })
  }

  discard(usage: Usage): void {
    this.set({ discarded: sum(this.#fields.discarded, usage) })
  }

  setAgent(agent: Agent): void {
    this.agents.set(agent.agentId, agent)
    this.#view = undefined
  }

  addHook(hook: Hook): void {
    this.#hooks.push(hook)
    this.#view = undefined
  }

  view(): Run {
    this.#view ??= { ...this.#fields, agents: [...this.agents.values()], hooks: [...this.#hooks] }
    return this.#view
  }
}

type LedgerView = Pick<View, 'runs' | 'requests' | 'interrupts' | 'usage'>

export class Ledger {
  readonly runs = new Map<string, RunRecord>()
  readonly requests = new Map<string, Request>()
  readonly interrupts = new Map<string, Interrupt>()
  #open = new Set<string>()

  constructor(view?: LedgerView) {
    for (const run of view?.runs ?? []) this.runs.set(run.runId, new RunRecord(run))
    for (const request of view?.requests ?? []) this.requests.set(request.runId, request)
    for (const interrupt of view?.interrupts ?? []) this.#put(interrupt)
  }

  /** The run of an origin; an entry opens its run if nobody else did. */
  open(runId: string, { sequence, timestamp }: Entry): RunRecord {
    let run = this.runs.get(runId)
    if (run === undefined) {
      const fresh: Run = {
        runId,
        status: 'running',
        at: sequence,
        startedAt: timestamp,
        usage: {},
        discarded: {},
        agents: [],
        hooks: [],
      }
      run = new RunRecord(fresh)
      this.runs.set(runId, run)
      const request = this.requests.get(runId)
      if (request?.status === 'waiting') this.requests.set(runId, { ...request, status: 'started' })
    }
    return run
  }

  get openInterrupts(): Interrupt[] {
    return [...this.#open].map(id => this.interrupts.get(id) as Interrupt)
  }

  /**
   * Takes down what an entry says of runs, requests, interrupts and usage: true where it did, false where that does not fit what is
   * known, undefined where it says nothing of them. `run` is the writer's; a guest has none.
   */
  apply(entry: Entry, chunk: Chunk, run: RunRecord | undefined): boolean | undefined {
    switch (chunk.type) {
      case 'run-requested':
        if (this.requests.has(chunk.runId) || this.runs.has(chunk.runId)) return false
        this.requests.set(chunk.runId, {
          ...pick(chunk, 'runId', 'program', 'message'),
          status: 'waiting',
          at: entry.sequence,
        })
        return true
      case 'stop-requested': {
        const request = this.requests.get(chunk.runId)
        const target = this.runs.get(chunk.runId)
        if (target?.isOpen) target.set({ stopRequested: true })
        else if (request?.status === 'waiting') this.requests.set(chunk.runId, { ...request, status: 'removed' })
        else return false
        return true
      }
      case 'interrupt-response': {
        const interrupt = this.interrupts.get(chunk.interruptId)
        if (interrupt?.status !== 'open') return false
        this.#put({ ...interrupt, status: 'answered', response: chunk.response })
        return true
      }
    }
    return run && this.#ofWriter(entry, chunk, run)
  }

  #ofWriter(entry: Entry, chunk: Chunk, run: RunRecord): boolean | undefined {
    const origin = entry.origin as WriterOrigin
    switch (chunk.type) {
      case 'run-started':
        run.set(pick(chunk, 'program', 'resumes'))
        return true
      case 'run-paused':
        run.set({ status: 'paused', awaits: chunk.awaits, ...pick(chunk, 'reason') })
        return true
      case 'run-resumed':
        run.goOn()
        return true
      case 'run-finished':
        run.goOn()
        run.set({ status: chunk.status, finishedAt: entry.timestamp, ...pick(chunk, 'reason') })
        for (const interrupt of this.openInterrupts) {
          if (interrupt.runId === run.runId) this.#put({ ...interrupt, status: 'void' })
        }
        return true
      case 'step-finish':
        if (chunk.usage) run.use(chunk.usage)
        return true
      case 'step-discarded':
        if (chunk.usage) run.discard(chunk.usage)
        return true
      case 'subagent-start':
        if (run.agents.has(chunk.agentId)) return false
        run.setAgent(agentOf(chunk, entry))
        return true
      case 'subagent-end': {
        const agent = run.agents.get(chunk.agentId) ?? agentOf(chunk, entry)
        if (agent.status) return false
        run.setAgent({ ...agent, status: chunk.status })
        return true
      }
      case 'interrupt':
        if (this.interrupts.has(chunk.interruptId)) return false
        this.#put({
          ...pick(chunk, 'interruptId', 'input', 'deadline', 'meta'),
          ...pick(origin, 'runId', 'lane'),
          at: entry.sequence,
          status: 'open',
        })
        return true
      case 'status':
        run.set({ note: chunk.message })
        return true
      case 'error':
        run.set({ error: pick(chunk, 'message', 'code', 'category', 'retryable', 'recoverable') })
        return true
      case 'run-context':
        run.set({ context: chunk.context })
        return true
      case 'hook-completed':
        run.addHook(pick(chunk, 'hookId', 'result', 'emissions'))
        return true
    }
    return undefined
  }

  #put(interrupt: Interrupt): void {
    this.interrupts.set(interrupt.interruptId, interrupt)
    if (interrupt.status === 'open') this.#open.add(interrupt.interruptId)
    else this.#open.delete(interrupt.interruptId)
  }

  view(): LedgerView {
    const runs = [...this.runs.values()].map(run => run.view())
    return {
      runs,
      requests: [...this.requests.values()],
      interrupts: [...this.interrupts.values()],
      usage: runs.reduce((total, run) => sum(total, run.usage), {} as Usage),
    }
  }
}
