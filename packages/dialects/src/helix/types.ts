// The chunks of the stream protocol of Helix Agents, with the names of its documentation: 31 data chunks, the end, and the events that carry them.

import type { Origin } from '@millrace/protocol'
import type { Supplement } from '../dialect/supplement.ts'

/** Fields of every chunk. */
export interface BaseChunk {
  /** The run id for the main agent, the id of its `subagent_start` for a sub-agent. */
  readonly agentId: string
  readonly agentType: string
  /** In milliseconds. */
  readonly timestamp: number
  /** Number of the step of the agent, from 1 in each turn. */
  readonly step: number
}

export interface TextDeltaChunk extends BaseChunk {
  readonly type: 'text_delta'
  readonly delta: string
}

export interface ThinkingChunk extends BaseChunk {
  readonly type: 'thinking'
  readonly content: string
  /** False for a delta of a block. True for the complete block, which repeats its deltas. */
  readonly isComplete: boolean
}

interface HelixCallFields extends BaseChunk {
  readonly toolCallId: string
}

interface NamedCallFields extends HelixCallFields {
  readonly toolName: string
}

export interface ToolArgStreamStartChunk extends NamedCallFields {
  readonly type: 'tool_arg_stream_start'
}

export interface ToolArgStreamDeltaChunk extends HelixCallFields {
  readonly type: 'tool_arg_stream_delta'
  readonly delta: string
}

export interface ToolArgStreamEndChunk extends HelixCallFields {
  readonly type: 'tool_arg_stream_end'
}

export interface ToolStartChunk extends NamedCallFields {
  readonly type: 'tool_start'
  readonly arguments: { readonly [name: string]: unknown }
}

export interface ToolEndChunk extends NamedCallFields {
  readonly type: 'tool_end'
  readonly result: unknown
  readonly error?: string | undefined
  readonly errorCode?: string | undefined
  /** Whether the server ran the call. Otherwise a client did. */
  readonly providerExecuted?: boolean | undefined
}

interface ApprovalFields extends NamedCallFields {
  /** `${runId}::${toolCallId}`. */
  readonly approvalId: string
  readonly isAutomatic?: boolean | undefined
}

export interface ToolApprovalRequestChunk extends ApprovalFields {
  readonly type: 'tool_approval_request'
  readonly input: unknown
}

export interface ToolApprovalResponseChunk extends ApprovalFields {
  readonly type: 'tool_approval_response'
  readonly approved: boolean
  readonly reason?: string | undefined
}

export interface ToolInputErrorChunk extends NamedCallFields {
  readonly type: 'tool_input_error'
  readonly error: string
  readonly partialInput?: unknown
}

export interface ToolOutputErrorChunk extends NamedCallFields {
  readonly type: 'tool_output_error'
  readonly error: string
}

interface SubAgentFields extends BaseChunk {
  readonly subAgentType: string
  /** The `agentId` of the chunks of the sub-agent. */
  readonly subSessionId: string
  readonly callId: string
}

export interface SubAgentStartChunk extends SubAgentFields {
  readonly type: 'subagent_start'
}

export interface SubAgentEndChunk extends SubAgentFields {
  readonly type: 'subagent_end'
  readonly result: unknown
}

export interface CustomEventChunk extends BaseChunk {
  readonly type: 'custom'
  readonly eventName: string
  readonly data: unknown
}

/** An operation of RFC 6902. */
export type JSONPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly path: string; readonly from: string }

export interface StatePatchChunk extends BaseChunk {
  readonly type: 'state_patch'
  readonly patches: readonly JSONPatchOperation[]
}

export interface ErrorChunk extends BaseChunk {
  readonly type: 'error'
  readonly error: string
  readonly code?: string | undefined
  readonly errorDetail?:
    | {
        readonly message: string
        readonly code?: string | undefined
        readonly category?: string | undefined
        readonly cause?: string | undefined
        readonly retryable?: boolean | undefined
      }
    | undefined
  readonly recoverable: boolean
}

export interface OutputChunk extends BaseChunk {
  readonly type: 'output'
  readonly output: unknown
}

export interface SourceUrlChunk extends BaseChunk {
  readonly type: 'source_url'
  readonly sourceId: string
  readonly url: string
  readonly title?: string | undefined
}

export interface SourceDocumentChunk extends BaseChunk {
  readonly type: 'source_document'
  readonly sourceId: string
  readonly mediaType: string
  readonly title: string
  readonly filename?: string | undefined
}

export interface StepStartChunk extends BaseChunk {
  readonly type: 'step_start'
  readonly stepId?: string | undefined
}

export type HelixFinishReason = 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'error' | 'other'

export interface StepEndChunk extends BaseChunk {
  readonly type: 'step_end'
  readonly stepId?: string | undefined
  readonly usage?:
    | {
        readonly inputTokens: number
        readonly outputTokens: number
        readonly cachedTokens?: number | undefined
        readonly cacheWriteTokens?: number | undefined
      }
    | undefined
  readonly finishReason?: HelixFinishReason | undefined
}

export interface FileChunk extends BaseChunk {
  readonly type: 'file'
  readonly url: string
  readonly mediaType: string
  readonly filename?: string | undefined
}

interface RunFields extends BaseChunk {
  readonly runId: string
}

export interface RunInterruptedChunk extends RunFields {
  readonly type: 'run_interrupted'
  readonly checkpointId: string | null
  readonly reason?: string | undefined
}

export interface RunResumedChunk extends RunFields {
  readonly type: 'run_resumed'
  readonly fromCheckpointId: string | null
  readonly fromStepCount: number
  /** `continue`, `with_message`, `with_confirmation` or `from_checkpoint`. */
  readonly mode: string
}

export interface RunPausedChunk extends RunFields {
  readonly type: 'run_paused'
  readonly reason: string
  readonly pendingToolName?: string | undefined
  readonly pendingToolCallId?: string | undefined
}

export interface ExecutorSupersededChunk extends BaseChunk {
  readonly type: 'executor_superseded'
  readonly reason?: string | undefined
}

export interface CheckpointCreatedChunk extends RunFields {
  readonly type: 'checkpoint_created'
  readonly checkpointId: string
  readonly stepCount: number
}

export interface StepCommittedChunk extends RunFields {
  readonly type: 'step_committed'
  readonly stepId: string
  readonly checkpointId: string
}

export interface StepDiscardedChunk extends RunFields {
  readonly type: 'step_discarded'
  readonly stepId: string
  readonly reason: string
}

export type ResyncReason = 'crash_recovery' | 'rollback' | 'branch' | 'retry'

export interface StreamResyncChunk extends BaseChunk {
  readonly type: 'stream_resync'
  readonly checkpointId: string
  readonly stepCount: number
  readonly messageCount: number
  /** The sequence after which chunks were removed. */
  readonly fromSequence: number
  readonly reason: ResyncReason
}

/** A sub-agent that a run waits for. The documentation does not specify its fields. */
export type SuspendedChildWaitPayload = { readonly [name: string]: unknown }

/** Internal: decoded, but never sent. */
export interface SuspensionMarkerChunk extends BaseChunk {
  readonly type: 'suspension_marker'
  readonly kind: 'suspended_client_tool' | 'suspended_awaiting_children' | 'suspended_step_partial'
  readonly payload:
    | { readonly toolCallIds: readonly string[]; readonly stepId: string }
    | { readonly toolCallIds: readonly string[] }
    | { readonly children: readonly SuspendedChildWaitPayload[] }
}

/** A data chunk. */
export type StreamChunk =
  | TextDeltaChunk
  | ThinkingChunk
  | ToolArgStreamStartChunk
  | ToolArgStreamDeltaChunk
  | ToolArgStreamEndChunk
  | ToolStartChunk
  | ToolEndChunk
  | ToolApprovalRequestChunk
  | ToolApprovalResponseChunk
  | ToolInputErrorChunk
  | ToolOutputErrorChunk
  | SubAgentStartChunk
  | SubAgentEndChunk
  | CustomEventChunk
  | StatePatchChunk
  | ErrorChunk
  | OutputChunk
  | SourceUrlChunk
  | SourceDocumentChunk
  | StepStartChunk
  | StepEndChunk
  | FileChunk
  | RunInterruptedChunk
  | RunResumedChunk
  | RunPausedChunk
  | ExecutorSupersededChunk
  | CheckpointCreatedChunk
  | StepCommittedChunk
  | StepDiscardedChunk
  | StreamResyncChunk
  | SuspensionMarkerChunk

/** The end of the stream, as a chunk. */
export interface StreamEnd {
  readonly type: 'stream_end'
  readonly streamId: string
  readonly timestamp: number
  readonly finalOutput?: unknown
}

/** An item of a stream without envelopes. */
export type StreamMessage = StreamChunk | StreamEnd

// The events of a connection, which carry the chunks.

/** A chunk and its position. The supplement is outside of the chunk, which stays as documented. */
export interface StreamChunkEvent {
  readonly type: 'chunk'
  readonly chunk: StreamChunk
  /** Set on the last of several chunks of one entry: a client that resumes after it has all of them. */
  readonly sequence?: number | undefined
  readonly millrace?: Supplement
  /** The origin of a sub-agent or a guest. */
  readonly origin?: Origin
}

export interface StreamEndEvent {
  readonly type: 'end'
  readonly finalOutput?: unknown
}

export interface StreamFailEvent {
  readonly type: 'fail'
  readonly error: string
}

export interface StreamStatusEvent {
  readonly type: 'status'
  readonly status: 'paused' | 'active'
}

/** The resume position is not in the log. A snapshot has the current one. */
export interface StreamTruncatedEvent {
  readonly type: 'truncated'
  readonly truncatedAtStep: number
  readonly atSequence?: number | undefined
}

export type StreamEvent = StreamChunkEvent | StreamEndEvent | StreamFailEvent | StreamStatusEvent | StreamTruncatedEvent

/** A stored chunk. */
export interface StoredChunk {
  readonly chunk: StreamChunk
  readonly sequence: number
}

/** The documentation has three statuses. A waiting stream is `paused`. */
export type ResumableStreamStatus = 'active' | 'paused' | 'ended' | 'failed'
