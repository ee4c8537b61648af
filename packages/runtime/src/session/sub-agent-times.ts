// The working time of a run's sub-agents, from its entries alone. Time in which the run is paused, or in which everything that the sub-agent has open waits
// for an answer, does not count.

import { type Chunk, type Entry, isGuest, type WriterOrigin } from '@millrace/protocol'

/** A call, or a question of a workflow's. */
interface TimedCall {
  readonly agentId: string
  readonly lane: string
  waitsForAnswer: boolean
  waitsForClient: boolean
  /** Who works for it. */
  child: string | undefined
}

interface TimedAgent {
  readonly began: number
  readonly parentId: string
  /** The calls that have no outcome. */
  readonly open: Set<string>
  /** The lanes on which a model is speaking. */
  readonly speaking: Set<string>
  /** For how long it waited before. */
  waited: number
  /** Since when it waits, if it does. */
  since: number | undefined
}

export class SubAgentTimes {
  readonly #agents = new Map<string, TimedAgent>()
  /** The open calls and questions of sub-agents, by their ids. */
  readonly #calls = new Map<string, TimedCall>()
  #isPaused = false

  /** For how long a sub-agent that has not ended was at work until now. */
  timeOf(agentId: string, now: number): number {
    const { began = now, waited = 0, since = now } = this.#agents.get(agentId) ?? {}
    return Math.max(0, Math.min(since, now) - began - waited)
  }

  /** Goes on with the next entry of the run, or of a guest. */
  add({ chunk, origin, timestamp }: Entry): void {
    if (!isGuest(origin)) this.#say(origin, chunk, timestamp)
    const call = this.#calls.get(idOf(chunk) ?? '')
    if (call === undefined) return
    this.#settle(call, chunk)
    this.#look(call.agentId, timestamp)
  }

  /** What only who drives the run says. */
  #say({ agentId, lane }: WriterOrigin, chunk: Chunk, at: number): void {
    switch (chunk.type) {
      case 'run-paused':
      case 'run-resumed':
        this.#isPaused = chunk.type === 'run-paused'
        for (const id of this.#agents.keys()) this.#look(id, at)
        break
      case 'subagent-start': {
        const call = this.#calls.get(chunk.toolCallId)
        if (call) call.child = chunk.agentId
        this.#agents.set(chunk.agentId, {
          began: at,
          parentId: agentId,
          open: new Set(),
          speaking: new Set(),
          waited: 0,
          since: undefined,
        })
        break
      }
      case 'subagent-end':
        this.#close(chunk.agentId)
        this.#agents.delete(chunk.agentId)
        break
      case 'step-start':
        // Nobody waits for what a step that was discarded has asked for: on its own lane, as hooks of a workflow have steps side by side.
        this.#close(agentId, lane)
        this.#agents.get(agentId)?.speaking.add(lane)
        this.#look(agentId, at)
        break
      case 'step-finish':
      case 'step-discarded':
        this.#agents.get(agentId)?.speaking.delete(lane)
        this.#look(agentId, at)
        break
      case 'tool-input-available': {
        const { executor } = chunk
        if (executor !== 'provider')
          this.#open(chunk.toolCallId, agentId, lane, { waitsForClient: executor === 'client' })
        break
      }
      case 'interrupt':
        // What else of its node goes on meanwhile no entry tells.
        this.#open(chunk.interruptId, agentId, lane, { waitsForAnswer: true })
        break
      case 'tool-approval-request': {
        const call = this.#calls.get(chunk.toolCallId)
        if (call) call.waitsForAnswer = true
      }
    }
  }

  #open(id: string, agentId: string, lane: string, waits: Partial<TimedCall>): void {
    const agent = this.#agents.get(agentId)
    if (agent === undefined) return
    agent.open.add(id)
    this.#calls.set(id, { agentId, lane, waitsForAnswer: false, waitsForClient: false, child: undefined, ...waits })
  }

  /** What anybody may say of a call. */
  #settle(call: TimedCall, chunk: Chunk): void {
    switch (chunk.type) {
      case 'tool-approval-response':
        call.waitsForAnswer = false
        // What was denied no client runs.
        call.waitsForClient &&= chunk.approved
        break
      case 'tool-output-available':
        if (chunk.preliminary) break
        this.#end(call, chunk.toolCallId)
        break
      case 'interrupt-response':
        this.#end(call, chunk.interruptId)
        break
      case 'tool-input-error':
      case 'tool-output-error':
      case 'tool-output-denied':
        this.#end(call, chunk.toolCallId)
    }
  }

  #end({ agentId }: TimedCall, toolCallId: string): void {
    this.#calls.delete(toolCallId)
    this.#agents.get(agentId)?.open.delete(toolCallId)
  }

  /** Nothing that an agent has open, or has open on a lane, is waited for any more. */
  #close(agentId: string, lane?: string): void {
    const agent = this.#agents.get(agentId)
    for (const id of agent?.open ?? []) {
      if (lane !== undefined && this.#calls.get(id)?.lane !== lane) continue
      this.#calls.delete(id)
      agent?.open.delete(id)
    }
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

  #isWaiting({ open, speaking }: TimedAgent): boolean {
    if (this.#isPaused) return true
    return speaking.size === 0 && open.size > 0 && [...open].every(id => this.#waits(this.#calls.get(id)))
  }

  #waits(call: TimedCall | undefined): boolean {
    if (call?.waitsForAnswer || call?.waitsForClient) return true
    return call?.child !== undefined && this.#agents.get(call.child)?.since !== undefined
  }
}

/** The call or the question that a chunk is about, if it is about one. */
function idOf(chunk: Chunk): string | undefined {
  const { toolCallId, interruptId } = chunk as { toolCallId?: string; interruptId?: string }
  return toolCallId ?? interruptId
}
