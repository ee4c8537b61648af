import type { Chunk, Json } from '@millrace/protocol'
import type { StreamContext } from '../events/event-to-chunk.ts'

/** A tool call as a client sees it. */
export interface AiSdkCall {
  readonly name: string
  readonly isDynamic: boolean
  isProvider: boolean
  isClient: boolean
  /** Number of the step that the call is in. */
  readonly step: number
  /** Whether its input has been streamed. */
  isStreamed: boolean
  state: 'streaming' | 'ready' | 'settled' | 'denied'
}

/** The tool calls of a message. Clients fail on a chunk of an unknown call, and lose a result if a chunk of an earlier state follows it. */
export class AiSdkToolCalls implements StreamContext {
  readonly #calls = new Map<string, AiSdkCall>()
  readonly approvals = new Map<string, string>()
  readonly inputs = new Map<string, Json>()
  /** Ids of approvals without a response. */
  readonly #openApprovals = new Set<string>()

  get(toolCallId: string): AiSdkCall | undefined {
    return this.#calls.get(toolCallId)
  }

  /** Tracks a tool chunk. Returns false if clients cannot handle it in the current state of its call. */
  track(chunk: Chunk, step: number): boolean {
    switch (chunk.type) {
      case 'tool-input-start':
      case 'tool-input-available':
      case 'tool-input-error':
        return this.#open(chunk, step)
      case 'tool-input-delta': {
        const call = this.#calls.get(chunk.toolCallId)
        return call?.state === 'streaming' && call.isStreamed
      }
      case 'tool-approval-request':
        if (!this.#isOpen(chunk.toolCallId)) return false
        this.approvals.set(chunk.approvalId, chunk.toolCallId)
        this.#openApprovals.add(chunk.approvalId)
        return true
      case 'tool-approval-response':
        if (!this.#isOpen(this.approvals.get(chunk.approvalId))) return false
        this.#openApprovals.delete(chunk.approvalId)
        return true
      case 'tool-output-available':
        if (chunk.preliminary) return this.#isOpen(chunk.toolCallId)
        return this.#settle(chunk.toolCallId, 'settled')
      case 'tool-output-error':
        return this.#settle(chunk.toolCallId, 'settled')
      case 'tool-output-denied':
        return this.#settle(chunk.toolCallId, 'denied')
      default:
        return true
    }
  }

  /** Ids of calls without a result. */
  *open(): Generator<string> {
    for (const [id, { state }] of this.#calls) if (state === 'streaming' || state === 'ready') yield id
  }

  /** Whether clients would send the results of this step: each call has a result and none was denied. */
  areComplete(step: number): boolean {
    const calls = [...this.#calls.values()].filter(call => call.step === step && !call.isProvider)
    return calls.length > 0 && calls.every(({ state }) => state === 'settled')
  }

  /** The id of an approval of this call that has no response. */
  openApprovalOf(toolCallId: string): string | undefined {
    for (const approvalId of this.#openApprovals) if (this.approvals.get(approvalId) === toolCallId) return approvalId
    return undefined
  }

  /** Removes a call of a discarded draft. */
  remove(toolCallId: string): void {
    this.#calls.delete(toolCallId)
  }

  #isOpen(toolCallId: string | undefined): boolean {
    const state = this.#calls.get(toolCallId ?? '')?.state
    return state === 'streaming' || state === 'ready'
  }

  #settle(toolCallId: string, state: 'settled' | 'denied'): boolean {
    if (!this.#isOpen(toolCallId)) return false
    ;(this.#calls.get(toolCallId) as AiSdkCall).state = state
    return true
  }

  #open(
    chunk: Extract<Chunk, { type: 'tool-input-start' | 'tool-input-available' | 'tool-input-error' }>,
    step: number,
  ): boolean {
    const { type, toolCallId } = chunk
    const call = this.#calls.get(toolCallId)
    if (call && (call.state !== 'streaming' || type === 'tool-input-start')) return false
    const state = type === 'tool-input-start' ? 'streaming' : type === 'tool-input-error' ? 'settled' : 'ready'
    if (type === 'tool-input-available') this.inputs.set(toolCallId, chunk.input)
    const { executor, dynamic = false } = chunk as Extract<Chunk, { type: 'tool-input-start' }>
    if (call) {
      call.state = state
      call.isProvider ||= executor === 'provider'
      call.isClient ||= executor === 'client'
    } else {
      this.#calls.set(toolCallId, {
        name: chunk.toolName ?? '',
        isDynamic: dynamic,
        isProvider: executor === 'provider',
        isClient: executor === 'client',
        step,
        isStreamed: type === 'tool-input-start',
        state,
      })
    }
    return true
  }
}
