// The pendings of a run and of its sub-agents, and the calls without a result.

import type { Chunk, ChunkOf, Origin } from '@millrace/protocol'
import { isToolResult } from '../../dialect/tool-result.ts'
import type { KortyxPending } from '../events/interrupt.ts'

interface KortyxCall {
  readonly toolName: string
  readonly input: ChunkOf<'tool-input-available'>['input']
  readonly isClient: boolean
}

/** Tracks what a run waits for. */
export class PendingRequests {
  readonly #calls = new Map<string, KortyxCall>()
  /** By call id or interrupt id. */
  readonly #pendings = new Map<string, KortyxPending>()

  /** Everything that waits for a person, in the order of the requests. */
  pendings(): Iterable<KortyxPending> {
    return this.#pendings.values()
  }

  /** Tracks a chunk of any agent. */
  track(chunk: Chunk, origin: Origin | undefined): void {
    switch (chunk.type) {
      case 'tool-input-available': {
        const { toolCallId, toolName, input, executor } = chunk
        const call = { toolName, input, isClient: executor === 'client' }
        this.#calls.set(toolCallId, call)
        if (call.isClient) this.#waitForClient(toolCallId, call, requestingAgentOf(origin))
        break
      }
      case 'tool-approval-request': {
        const { toolCallId, approvalId: id, input, toolName = this.#calls.get(toolCallId)?.toolName ?? '' } = chunk
        this.#pendings.set(toolCallId, {
          kind: 'approval',
          id,
          toolCallId,
          toolName,
          input,
          ...requestingAgentOf(origin),
        })
        break
      }
      case 'tool-approval-response': {
        const { toolCallId, approved } = chunk
        const call = this.#calls.get(toolCallId)
        const { agentId, node } = this.#pendings.get(toolCallId) ?? {}
        this.#pendings.delete(toolCallId)
        const agent = { ...(agentId !== undefined && { agentId }), ...(node !== undefined && { node }) }
        if (approved && call?.isClient) this.#waitForClient(toolCallId, call, agent)
        break
      }
      case 'interrupt': {
        const { interruptId: id } = chunk
        this.#pendings.set(id, { kind: 'interrupt', id, chunk, ...requestingAgentOf(origin) })
        break
      }
      case 'interrupt-response':
        this.#pendings.delete(chunk.interruptId)
        break
      case 'subagent-end':
        for (const [key, { agentId }] of this.#pendings) if (agentId === chunk.agentId) this.#pendings.delete(key)
        break
      default:
        if (isToolResult(chunk)) this.#pendings.delete(chunk.toolCallId)
    }
  }

  #waitForClient(toolCallId: string, { toolName, input }: KortyxCall, agent: RequestingAgent): void {
    this.#pendings.set(toolCallId, { kind: 'client-tool', id: toolCallId, toolCallId, toolName, input, ...agent })
  }

  /** Removes a call that has its result. Returns its tool, or undefined if clients do not know the call. */
  settle(toolCallId: string): string | undefined {
    const call = this.#calls.get(toolCallId)
    this.#calls.delete(toolCallId)
    return call?.toolName
  }

  /** Like `settle`, for a discarded call. Removes its request, too. */
  discard(toolCallId: string): string | undefined {
    this.#pendings.delete(toolCallId)
    return this.settle(toolCallId)
  }
}

type RequestingAgent = Pick<KortyxPending, 'node' | 'agentId'>

/** The agent of a request. */
const requestingAgentOf = (origin: Origin | undefined): RequestingAgent => {
  if (origin === undefined || origin.guest !== undefined) return {}
  const { agentId, node } = origin
  return node === undefined ? { agentId } : { agentId, node }
}
