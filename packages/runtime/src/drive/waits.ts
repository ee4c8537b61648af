// For how long the sub-agents of a run were at work, told from its entries alone: not while the run paused, and not while all that they had open waited for
// somebody.

import { type Chunk, type Entry, isGuest } from '@millrace/protocol'

interface Call {
  readonly agentId: string
  waitsForApproval: boolean
  waitsForClient: boolean
  /** Who works for it. */
  child: string | undefined
}

interface Working {
  readonly began: number
  readonly parentId: string
  /** The calls that have no outcome. */
  readonly open: Set<string>
  /** For how long it waited before. */
  waited: number
  /** Since when it waits, if it does. */
  since: number | undefined
}

export class Waits {
  readonly #agents = new Map<string, Working>()
  /** The open calls of sub-agents, by their ids. */
  readonly #calls = new Map<string, Call>()
  #isPaused = false

  /** For how long a sub-agent that has not ended was at work until now. */
  timeOf(agentId: string, now: number): number {
    const { began = now, waited = 0, since = now } = this.#agents.get(agentId) ?? {}
    return Math.max(0, Math.min(since, now) - began - waited)
  }

  /** Goes on with the next entry of the run, or of a guest. */
  add({ chunk, origin, timestamp }: Entry): void {
    if (!isGuest(origin)) this.#say(origin.agentId, chunk, timestamp)
    const call = 'toolCallId' in chunk ? this.#calls.get(chunk.toolCallId as string) : undefined
    if (call === undefined) return
    this.#settle(call, chunk)
    this.#look(call.agentId, timestamp)
  }

  /** What only who drives the run says. */
  #say(agentId: string, chunk: Chunk, at: number): void {
    switch (chunk.type) {
      case 'run-paused':
      case 'run-resumed':
        this.#isPaused = chunk.type === 'run-paused'
        for (const id of this.#agents.keys()) this.#look(id, at)
        break
      case 'subagent-start': {
        const call = this.#calls.get(chunk.toolCallId)
        if (call) call.child = chunk.agentId
        this.#agents.set(chunk.agentId, { began: at, parentId: agentId, open: new Set(), waited: 0, since: undefined })
        break
      }
      case 'subagent-end':
        this.#close(chunk.agentId)
        this.#agents.delete(chunk.agentId)
        break
      case 'step-start':
        // Nobody waits for what a step that was discarded has asked for.
        this.#close(agentId)
        this.#look(agentId, at)
        break
      case 'tool-input-available': {
        const agent = chunk.executor === 'provider' ? undefined : this.#agents.get(agentId)
        agent?.open.add(chunk.toolCallId)
        const waitsForClient = chunk.executor === 'client'
        if (agent)
          this.#calls.set(chunk.toolCallId, { agentId, waitsForApproval: false, waitsForClient, child: undefined })
        break
      }
      case 'tool-approval-request': {
        const call = this.#calls.get(chunk.toolCallId)
        if (call) call.waitsForApproval = true
      }
    }
  }

  /** What anybody may say of a call. */
  #settle(call: Call, chunk: Chunk): void {
    switch (chunk.type) {
      case 'tool-approval-response':
        call.waitsForApproval = false
        // What was denied no client runs.
        call.waitsForClient &&= chunk.approved
        break
      case 'tool-output-available':
        if (chunk.preliminary) break
        this.#end(call, chunk.toolCallId)
        break
      case 'tool-input-error':
      case 'tool-output-error':
      case 'tool-output-denied':
        this.#end(call, chunk.toolCallId)
    }
  }

  #end({ agentId }: Call, toolCallId: string): void {
    this.#calls.delete(toolCallId)
    this.#agents.get(agentId)?.open.delete(toolCallId)
  }

  #close(agentId: string): void {
    const agent = this.#agents.get(agentId)
    for (const toolCallId of agent?.open ?? []) this.#calls.delete(toolCallId)
    agent?.open.clear()
  }

  /** Notes that an agent begins to wait or goes on, and with it whom it works for. */
  #look(agentId: string, at: number): void {
    const agent = this.#agents.get(agentId)
    if (agent === undefined || this.#isWaiting(agent) === (agent.since !== undefined)) return
    if (agent.since === undefined) agent.since = at
    else {
      agent.waited += at - agent.since
      agent.since = undefined
    }
    this.#look(agent.parentId, at)
  }

  #isWaiting({ open }: Working): boolean {
    return this.#isPaused || (open.size > 0 && [...open].every(id => this.#waits(this.#calls.get(id))))
  }

  #waits(call: Call | undefined): boolean {
    if (call?.waitsForApproval || call?.waitsForClient) return true
    return call?.child !== undefined && this.#agents.get(call.child)?.since !== undefined
  }
}
