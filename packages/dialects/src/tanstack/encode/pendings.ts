import type { Chunk, Json } from '@millrace/protocol'
import { isToolResult } from '../../dialect/tool-result.ts'

/** A call that waits for a person or for the client. */
interface PendingCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: Json
  /** Only of approvals. */
  readonly approvalId?: string
}

/** Tracks the calls that wait for an answer. */
export class TanstackPendings {
  /** Calls that the client has to run. */
  readonly #clients = new Map<string, PendingCall>()
  readonly #approvals = new Map<string, PendingCall>()
  /** Tool names of calls that may need approval. */
  readonly #names = new Map<string, string>()

  follow(chunk: Chunk): void {
    switch (chunk.type) {
      case 'tool-input-available': {
        const { toolCallId, toolName, input, executor } = chunk
        this.#names.set(toolCallId, toolName)
        if (executor === 'client') this.#clients.set(toolCallId, { toolCallId, toolName, input })
        break
      }
      case 'tool-approval-request': {
        const { toolCallId, input, approvalId, isAutomatic } = chunk
        const toolName = chunk.toolName ?? this.#names.get(toolCallId) ?? ''
        if (!isAutomatic) this.#approvals.set(toolCallId, { toolCallId, toolName, input, approvalId })
        break
      }
      case 'tool-approval-response':
        this.#approvals.delete(chunk.toolCallId)
        break
      default:
        if (isToolResult(chunk)) this.drop(chunk.toolCallId)
    }
  }

  /** Removes a call that is settled or was discarded. */
  drop(toolCallId: string): void {
    this.#clients.delete(toolCallId)
    this.#approvals.delete(toolCallId)
    this.#names.delete(toolCallId)
  }

  /** All waiting calls. A call that needs approval first is not included as a client call. */
  get calls(): readonly PendingCall[] {
    const ready = [...this.#clients.values()].filter(({ toolCallId }) => !this.#approvals.has(toolCallId))
    return [...this.#approvals.values(), ...ready]
  }
}
