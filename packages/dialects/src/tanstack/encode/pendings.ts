import type { Chunk, Json } from '@millrace/protocol'
import { PendingTracker } from '../../dialect/pending-tracker.ts'

/** A call that waits for a person or for the client. */
interface PendingCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: Json
  /** Only of approvals. */
  readonly approvalId?: string
}

/** Tracks the calls that wait for an answer. */
export class TanstackPendings extends PendingTracker {
  /** Tool names by call id: a request for approval may have none. */
  readonly #toolNames = new Map<string, string>()

  override track(chunk: Chunk): void {
    if (chunk.type === 'tool-input-available') this.#toolNames.set(chunk.toolCallId, chunk.toolName)
    super.track(chunk)
  }

  override drop(toolCallId: string): void {
    this.#toolNames.delete(toolCallId)
    super.drop(toolCallId)
  }

  /** All waiting calls, approvals first. */
  get calls(): readonly PendingCall[] {
    const approvals = this.approvals.map(({ chunk: { toolCallId, toolName, input, approvalId } }) => ({
      toolCallId,
      toolName: toolName ?? this.#toolNames.get(toolCallId) ?? '',
      input,
      approvalId,
    }))
    const clientCalls = this.clientCalls.map(({ chunk: { toolCallId, toolName, input } }) => ({
      toolCallId,
      toolName,
      input,
    }))
    return [...approvals, ...clientCalls]
  }
}
