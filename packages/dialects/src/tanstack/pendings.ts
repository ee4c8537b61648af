import type { Chunk, Json } from '@millrace/protocol'
import { isToolResult } from '../dialect/tool-result.ts'

/** A call that waits for a person or for the client. */
interface PendingCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: Json
  /** Only of approvals. */
  readonly approvalId?: string
}

/** Follows which calls wait for somebody. */
export class TanstackPendings {
  /** The calls that are the client's to execute. */
  readonly #clients = new Map<string, PendingCall>()
  readonly #approvals = new Map<string, PendingCall>()
  /** The names of the tools whose calls may have to be approved. */
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

  /** A call is settled, or was never made. */
  drop(toolCallId: string): void {
    this.#clients.delete(toolCallId)
    this.#approvals.delete(toolCallId)
    this.#names.delete(toolCallId)
  }

  /** All that wait; what has to be approved first is not yet the client's. */
  get calls(): readonly PendingCall[] {
    const ready = [...this.#clients.values()].filter(({ toolCallId }) => !this.#approvals.has(toolCallId))
    return [...this.#approvals.values(), ...ready]
  }
}
