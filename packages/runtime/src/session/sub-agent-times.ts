// Computes the active time of a run's sub-agents from its entries alone. Time in which the run is paused, or in which
// all open calls of the sub-agent wait for an answer, does not count.

import { type Chunk, type Entry, isGuest, type WriterOrigin } from '@millrace/protocol'

/** A tool call, or an interrupt of a workflow. */
interface TimedCall {
  readonly agentId: string
  readonly lane: string
  waitsForAnswer: boolean
  waitsForClient: boolean
  /** The sub-agent that executes it. */
  child: string | undefined
}

interface TimedAgent {
  readonly startedAt: number
  readonly parentId: string
  /** Calls without an outcome. */
  readonly open: Set<string>
  /** Lanes on which a model streams. */
  readonly streamingLanes: Set<string>
  /** Time that it waited before, in ms. */
  waitedMs: number
  /** When it started to wait; undefined if it does not wait. */
  waitingSince: number | undefined
}

export class SubAgentTimes {
  readonly #agents = new Map<string, TimedAgent>()
  /** Open calls and interrupts of sub-agents, by id. */
  readonly #calls = new Map<string, TimedCall>()
  #isPaused = false

  /** Active time of a sub-agent that has not ended, in ms. */
  activeTime(agentId: string, now: number): number {
    const { startedAt = now, waitedMs = 0, waitingSince = now } = this.#agents.get(agentId) ?? {}
    return Math.max(0, Math.min(waitingSince, now) - startedAt - waitedMs)
  }

  /** Adds the next entry of the run, or of a guest. */
  add({ chunk, origin, timestamp }: Entry): void {
    if (!isGuest(origin)) this.#applyDriverEntry(origin, chunk, timestamp)
    const call = this.#calls.get(idOf(chunk) ?? '')
    if (call === undefined) return
    this.#applyAnswer(call, chunk)
    this.#updateWaiting(call.agentId, timestamp)
  }

  /** Applies an entry that only the driver writes. */
  #applyDriverEntry({ agentId, lane }: WriterOrigin, chunk: Chunk, at: number): void {
    switch (chunk.type) {
      case 'run-paused':
      case 'run-resumed':
        this.#isPaused = chunk.type === 'run-paused'
        for (const id of this.#agents.keys()) this.#updateWaiting(id, at)
        break
      case 'subagent-start': {
        const call = this.#calls.get(chunk.toolCallId)
        if (call) call.child = chunk.agentId
        this.#agents.set(chunk.agentId, {
          startedAt: at,
          parentId: agentId,
          open: new Set(),
          streamingLanes: new Set(),
          waitedMs: 0,
          waitingSince: undefined,
        })
        break
      }
      case 'subagent-end':
        this.#close(chunk.agentId)
        this.#agents.delete(chunk.agentId)
        break
      case 'step-start':
        // Calls of a discarded step are dropped. Only on its lane, because hooks of a workflow run steps in parallel.
        this.#close(agentId, lane)
        this.#agents.get(agentId)?.streamingLanes.add(lane)
        this.#updateWaiting(agentId, at)
        break
      case 'step-finish':
      case 'step-discarded':
        this.#agents.get(agentId)?.streamingLanes.delete(lane)
        this.#updateWaiting(agentId, at)
        break
      case 'tool-input-available': {
        const { executor } = chunk
        if (executor !== 'provider')
          this.#open(chunk.toolCallId, agentId, lane, { waitsForClient: executor === 'client' })
        break
      }
      case 'interrupt':
        // No entry shows which other hooks of the node continue meanwhile.
        this.#open(chunk.interruptId, agentId, lane, { waitsForAnswer: true })
        break
      case 'tool-approval-request': {
        const call = this.#calls.get(chunk.toolCallId)
        if (call) call.waitsForAnswer = true
      }
    }
  }

  #open(id: string, agentId: string, lane: string, flags: Partial<TimedCall>): void {
    const agent = this.#agents.get(agentId)
    if (agent === undefined) return
    agent.open.add(id)
    this.#calls.set(id, { agentId, lane, waitsForAnswer: false, waitsForClient: false, child: undefined, ...flags })
  }

  /** Applies a chunk that a driver or a guest may write about a call. */
  #applyAnswer(call: TimedCall, chunk: Chunk): void {
    switch (chunk.type) {
      case 'tool-approval-response':
        call.waitsForAnswer = false
        // A client does not execute a denied call.
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

  /** Drops the open calls of an agent, or those on one lane. */
  #close(agentId: string, lane?: string): void {
    const agent = this.#agents.get(agentId)
    for (const id of agent?.open ?? []) {
      if (lane !== undefined && this.#calls.get(id)?.lane !== lane) continue
      this.#calls.delete(id)
      agent?.open.delete(id)
    }
  }

  /** Updates whether an agent waits, and then its parent. */
  #updateWaiting(agentId: string, at: number): void {
    const agent = this.#agents.get(agentId)
    if (agent === undefined || this.#isWaiting(agent) === (agent.waitingSince !== undefined)) return
    if (agent.waitingSince === undefined) agent.waitingSince = at
    else {
      agent.waitedMs += at - agent.waitingSince
      agent.waitingSince = undefined
    }
    this.#updateWaiting(agent.parentId, at)
  }

  #isWaiting({ open, streamingLanes }: TimedAgent): boolean {
    if (this.#isPaused) return true
    return streamingLanes.size === 0 && open.size > 0 && [...open].every(id => this.#isCallWaiting(this.#calls.get(id)))
  }

  #isCallWaiting(call: TimedCall | undefined): boolean {
    if (call?.waitsForAnswer || call?.waitsForClient) return true
    return call?.child !== undefined && this.#agents.get(call.child)?.waitingSince !== undefined
  }
}

/** The id of the call or interrupt that a chunk refers to. */
function idOf(chunk: Chunk): string | undefined {
  const { toolCallId, interruptId } = chunk as { toolCallId?: string; interruptId?: string }
  return toolCallId ?? interruptId
}
