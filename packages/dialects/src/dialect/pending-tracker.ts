import type { Chunk, ChunkOf } from '@millrace/protocol'
import { isToolResult } from './tool-result.ts'

/** A chunk that asks for an answer, and the sub-agent that wrote it. */
export interface PendingRequest<C extends Chunk> {
  readonly chunk: C
  readonly agentId?: string | undefined
}

/** Tracks the requests of a run that have no answer yet, for formats that send them when the run pauses. */
export class PendingTracker {
  readonly #approvals = new Map<string, PendingRequest<ChunkOf<'tool-approval-request'>>>()
  readonly #clientCalls = new Map<string, PendingRequest<ChunkOf<'tool-input-available'>>>()
  readonly #interrupts = new Map<string, PendingRequest<ChunkOf<'interrupt'>>>()

  /** Tracks a chunk of any agent. `agentId` names its sub-agent. */
  track(chunk: Chunk, agentId?: string): void {
    switch (chunk.type) {
      case 'tool-approval-request':
        if (!chunk.isAutomatic) this.#approvals.set(chunk.toolCallId, { chunk, agentId })
        break
      case 'tool-approval-response':
        this.#approvals.delete(chunk.toolCallId)
        break
      case 'tool-input-available':
        if (chunk.executor === 'client') this.#clientCalls.set(chunk.toolCallId, { chunk, agentId })
        break
      case 'interrupt':
        this.#interrupts.set(chunk.interruptId, { chunk, agentId })
        break
      case 'interrupt-response':
        this.#interrupts.delete(chunk.interruptId)
        break
      default:
        if (isToolResult(chunk)) this.drop(chunk.toolCallId)
    }
  }

  /** Removes a call that is settled or was discarded. */
  drop(toolCallId: string): void {
    this.#approvals.delete(toolCallId)
    this.#clientCalls.delete(toolCallId)
  }

  /** Open approvals, in the order of their requests. */
  get approvals(): readonly PendingRequest<ChunkOf<'tool-approval-request'>>[] {
    return [...this.#approvals.values()]
  }

  /** Calls that the client has to run. A call that needs approval first is not one yet. */
  get clientCalls(): readonly PendingRequest<ChunkOf<'tool-input-available'>>[] {
    return [...this.#clientCalls.values()].filter(({ chunk }) => !this.#approvals.has(chunk.toolCallId))
  }

  /** Open interrupts, in the order of their requests. */
  get interrupts(): readonly PendingRequest<ChunkOf<'interrupt'>>[] {
    return [...this.#interrupts.values()]
  }
}
