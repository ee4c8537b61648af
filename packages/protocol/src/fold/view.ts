// The view: the folded log of a session, as plain JSON. It includes the inverses of open drafts, so that a fold can continue from it.

import type { Content, Executor, FinishReason, PendingRef, Role, RunStatus, Usage } from '../catalogue/chunk.ts'
import type { ErrorChunk, HookCompletedChunk, InterruptChunk, RunRequestedChunk } from '../catalogue/guards.ts'
import type { Entry } from '../entry/entry.ts'
import type { Json, JsonObject } from '../json/json.ts'
import type { StructuredState } from '../structured/structured-state.ts'
import type { StructuredDraft } from '../structured/undo-journal.ts'

/** The version of the fold that made a view. Another version must fold the log again (law 12). */
export const FOLD_VERSION: View['version'] = 1

/** Fields of all parts. */
export interface PartBase {
  /** Unique in its message and constant for the lifetime of the part. */
  readonly key: string
  /** The sequence of its first write. */
  readonly at: number
  /** Blobs of large values, which are `null` here, by JSON pointer into the chunk that last wrote them. */
  readonly blobs?: Entry['blobs']
}

/** Text for the user, or the model's reasoning. */
export interface TextPart extends PartBase {
  /** Kind of the text. */
  readonly type: 'text' | 'reasoning'
  /** Id of the text in its message, from its chunks. */
  readonly id: string
  /** The text so far. */
  readonly text: string
  /** `done` when the text is complete. */
  readonly state: 'streaming' | 'done'
  /** Metadata of the model's provider, such as the signature of reasoning. */
  readonly providerMetadata?: JsonObject
}

/** State of a tool call. */
export type ToolState =
  | 'input-streaming'
  | 'input-available'
  | 'approval-requested'
  | 'approval-responded'
  | 'output-available'
  | 'output-error'
  | 'output-denied'

/** A tool call, from the start of its input to its outcome. */
export interface ToolPart extends PartBase {
  /** `dynamic-tool`: the chunks of the call are marked `dynamic`. */
  readonly type: 'tool' | 'dynamic-tool'
  /** Id of the call, unique in the session. */
  readonly toolCallId: string
  /** Name of the called tool. */
  readonly toolName: string
  /** State of the call. */
  readonly state: ToolState
  /** The side that executes the call, if known. */
  readonly executor?: Executor
  /** Title of the tool for people, if it has one. */
  readonly title?: string
  /** The input; partial while it streams. */
  readonly input?: Json
  /** The JSON text of the input while it streams. */
  readonly inputText?: string
  /** The latest preliminary output. */
  readonly progress?: Json
  /** The output of a successful call. */
  readonly output?: Json
  /** The public error of a failed call. */
  readonly errorText?: string
  /** Code of the error of a failed call. */
  readonly code?: string
  /** The question for approval and its answer. `deadline` is in ms since 1970. */
  readonly approval?: {
    readonly id: string
    readonly approved?: boolean
    readonly reason?: string
    readonly isAutomatic?: boolean
    readonly deadline?: number
  }
  /** The time until which the result of a client tool is accepted, in ms since 1970. */
  readonly deadline?: number
  /** The client that claimed the call, and until when. */
  readonly claim?: { readonly until: number; readonly by?: string }
  /** Metadata of the model's provider for this call. */
  readonly providerMetadata?: JsonObject
}

/** A part that arrives complete: a source, a file, application data or the start of a step. */
export type ContentPart = PartBase & { readonly id?: string } & (
    | Exclude<Content, { type: 'text' | 'reasoning' }>
    | { readonly type: 'step-start'; readonly stepId?: string; readonly attempt?: number }
  )

/** A part of a message: text, a tool call, or other content. */
export type Part = TextPart | ToolPart | ContentPart

/** Status of a message. `sending` is a message of a client that the server has not confirmed. */
export type MessageStatus = 'sending' | 'streaming' | 'sent' | 'cancelled' | 'error'

/** The fields of an `error` chunk. */
export type ErrorInfo = Readonly<Omit<ErrorChunk, 'type'>>

/** A message of the view. */
export interface Message {
  /** Unique in the session. */
  readonly id: string
  /** Role of the author. */
  readonly role: Role
  /** Whether the message is complete. */
  readonly status: MessageStatus
  /** The sequence of its first surviving write. */
  readonly at: number
  /** Time of its first write, in ms since 1970. */
  readonly createdAt: number
  /** Texts, tool calls, files and data, in the order of their first write. */
  readonly parts: readonly Part[]
  /** Metadata of the application. */
  readonly metadata?: JsonObject
  /** Why the model stopped, once the message is complete. */
  readonly finishReason?: FinishReason
  /** The error that ended the message. */
  readonly error?: ErrorInfo
  /** The run and agent that it belongs to. Not set for a complete message, such as a user's. */
  readonly runId?: string
  /** Id of the agent in the run. */
  readonly agentId?: string
  /** Name of the agent's definition. */
  readonly agentType?: string
  /** For a sub-agent: the message and the tool call that started it. */
  readonly parent?: { readonly messageId: string; readonly toolCallId: string }
  /** The sequence of the first write of its metadata. */
  readonly metaAt?: number
  /** Whether the reply was aborted. */
  readonly aborted?: true
}

/** A sub-agent of a run. */
export interface Agent {
  /** Id of the run. */
  readonly runId: string
  /** Id of the sub-agent, unique in its run. */
  readonly agentId: string
  /** Name of its definition. */
  readonly agentType: string
  /** The tool call that started it. */
  readonly toolCallId: string
  /** Id of the agent that started it. For the root agent it is the run id. */
  readonly parentId: string
  /** Its lane, if known. */
  readonly lane?: string
  /** Time of its start, in ms since 1970. */
  readonly startedAt: number
  /** Set when it has ended. */
  readonly status?: RunStatus
  /** Its result, if it has ended and the result is short. The output of its tool call has every result. */
  readonly result?: Json
  /** Why it ended, if the end has a reason. */
  readonly reason?: string
}

/** A run of the view. */
export interface Run {
  /** Id of the run. */
  readonly runId: string
  /** Program of the run, such as `agent:name@1`. Undefined before its `run-started`. */
  readonly program?: string
  /** Status of the open run, or status with which the run ended. */
  readonly status: 'running' | 'paused' | RunStatus
  /** The sequence of its `run-started`. */
  readonly at: number
  /** Time of its start, in ms since 1970. */
  readonly startedAt: number
  /** Time of its end, in ms since 1970. */
  readonly finishedAt?: number
  /** Why it paused or ended, if there is a reason. */
  readonly reason?: string
  /** Id of its last checkpoint. Set when it has ended. */
  readonly checkpointId?: string
  /** Id of the interrupted run that it continues. */
  readonly resumes?: string
  /** The public error of a failed run. */
  readonly error?: ErrorInfo
  /** The open questions of a paused run. */
  readonly awaits?: readonly PendingRef[]
  /** Whether a stop was requested while the run was open. */
  readonly stopRequested?: true
  /** The number of takeovers since its last commit. A limit on it stops a run that crashes every driver. */
  readonly takeovers?: number
  /** The latest progress message for users. */
  readonly note?: string
  /** The total usage, including discarded attempts. */
  readonly usage: Usage
  /** The usage of discarded attempts. */
  readonly discarded: Usage
  /** The context that the server passed to the run. */
  readonly context?: Json
  /** Blobs of the context. */
  readonly blobs?: Entry['blobs']
}

/** A request for a run. */
export interface RunRequest extends Omit<RunRequestedChunk, 'type'> {
  /** `removed`: a stop withdrew the request before the run started. */
  readonly status: 'waiting' | 'started' | 'removed'
  /** The sequence of the request. */
  readonly at: number
}

/** A question to a user. It stays in the view after the response. */
export interface Interrupt extends Omit<InterruptChunk, 'type'> {
  /** Id of the run that asked. */
  readonly runId: string
  /** The lane that waits. */
  readonly lane: string
  /** Id of the agent that asked. */
  readonly agentId: string
  /** The sequence of the question. */
  readonly at: number
  /** `void`: its run or agent ended without a response. */
  readonly status: 'open' | 'answered' | 'void'
  /** The response, once there is one. */
  readonly response?: Json
}

/**
 * The result of a hook in a run that has not ended. A later result with the same id replaces it. A result for the id `a` also removes
 * the hooks with ids such as `a/b`; a chunk without a result removes the hook `a` too. Hooks are grouped by run, then by the first
 * segment of the id, then by id, in the order of their first writes.
 */
export interface Hook extends Omit<HookCompletedChunk, 'type'> {
  /** Id of the run. */
  readonly runId: string
  /** Blobs of large values, by JSON pointer into the chunk. */
  readonly blobs?: Entry['blobs']
}

/** Something a lane waits for. */
export type Pending =
  | { readonly kind: 'approval'; readonly id: string; readonly messageId: string; readonly part: ToolPart }
  | { readonly kind: 'client-tool'; readonly id: string; readonly messageId: string; readonly part: ToolPart }
  | { readonly kind: 'interrupt'; readonly id: string; readonly interrupt: Interrupt }

/** A structured object, and the sequence of its first surviving write. */
export type StructuredObject = StructuredState & { readonly at: number }

/** The metadata of a message. The fold handles it as one more part. */
export interface MessageMeta extends PartBase {
  /** Kind of the part. */
  readonly type: 'meta'
  /** Metadata of the application. */
  readonly metadata?: JsonObject
  /** Why the model stopped. */
  readonly finishReason?: FinishReason
  /** Whether the reply was aborted. */
  readonly aborted?: true
}

/** The inverse of a draft on one value: a length or an old value, or neither if the draft created the value. */
export type DraftUndo =
  | { readonly message: string; readonly key: string; readonly part?: Part | MessageMeta; readonly length?: number }
  | { readonly streamId: string; readonly draft: StructuredDraft; readonly at?: number }

/** The open draft of a lane, as the inverses that revert it. */
export interface Draft {
  /** Id of the run. */
  readonly runId: string
  /** Name of the lane. */
  readonly lane: string
  /** Id of the agent. */
  readonly agentId: string
  /** The inverse of each write, for a discard. */
  readonly undo: readonly DraftUndo[]
}

/** The fold of a session. */
export interface View {
  /** Version of the fold that made the view. */
  readonly version: 1
  /** The last folded sequence. */
  readonly head: number
  /** All messages, in order. */
  readonly messages: readonly Message[]
  /** State shared by agents and clients. */
  readonly state?: Json
  /** The latest output of a run. */
  readonly output?: Json
  /** The structured objects, in the order in which they began. */
  readonly structured: readonly StructuredObject[]
  /** The open questions: approvals, client tools and interrupts. */
  readonly pendings: readonly Pending[]
  /** The interrupts, also those that have a response. */
  readonly interrupts: readonly Interrupt[]
  /** The runs, in the order of their start. */
  readonly runs: readonly Run[]
  /** The sub-agents of all runs. */
  readonly agents: readonly Agent[]
  /** The requests for runs, in order. */
  readonly requests: readonly RunRequest[]
  /** The results of the hooks of open runs. */
  readonly hooks: readonly Hook[]
  /** The sum over all runs, discarded attempts included. */
  readonly usage: Usage
  /** The open drafts of all lanes. */
  readonly drafts: readonly Draft[]
  /** The view of internal entries. The server removes it from every response (law 10). */
  readonly internal?: View
}
