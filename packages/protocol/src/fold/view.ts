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
  readonly type: 'text' | 'reasoning'
  readonly id: string
  readonly text: string
  readonly state: 'streaming' | 'done'
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
  readonly type: 'tool' | 'dynamic-tool'
  readonly toolCallId: string
  readonly toolName: string
  readonly state: ToolState
  readonly executor?: Executor
  readonly title?: string
  /** The input; partial while it streams. */
  readonly input?: Json
  /** The JSON text of the input while it streams. */
  readonly inputText?: string
  /** The latest preliminary output. */
  readonly progress?: Json
  readonly output?: Json
  readonly errorText?: string
  readonly code?: string
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
  readonly id: string
  readonly role: Role
  readonly status: MessageStatus
  /** The sequence of its first surviving write. */
  readonly at: number
  /** Time of its first write, in ms since 1970. */
  readonly createdAt: number
  readonly parts: readonly Part[]
  readonly metadata?: JsonObject
  readonly finishReason?: FinishReason
  readonly error?: ErrorInfo
  /** The run and agent that it belongs to. Not set for a complete message, such as a user's. */
  readonly runId?: string
  readonly agentId?: string
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
  readonly runId: string
  readonly agentId: string
  readonly agentType: string
  readonly toolCallId: string
  readonly parentId: string
  /** Its lane, if known. */
  readonly lane?: string
  readonly startedAt: number
  /** Set when it has ended. */
  readonly status?: RunStatus
  readonly result?: Json
  readonly reason?: string
}

/** A run of the view. */
export interface Run {
  readonly runId: string
  readonly program?: string
  readonly status: 'running' | 'paused' | RunStatus
  /** The sequence of its `run-started`. */
  readonly at: number
  /** Time of its start, in ms since 1970. */
  readonly startedAt: number
  /** Time of its end, in ms since 1970. */
  readonly finishedAt?: number
  readonly reason?: string
  readonly checkpointId?: string
  readonly resumes?: string
  readonly error?: ErrorInfo
  /** What a paused run waits for. */
  readonly awaits?: readonly PendingRef[]
  readonly stopRequested?: true
  /** The number of takeovers since its last commit. A limit on it stops a run that crashes every driver. */
  readonly takeovers?: number
  /** The latest progress message for users. */
  readonly note?: string
  /** The total usage, including discarded attempts. */
  readonly usage: Usage
  /** The usage of discarded attempts. */
  readonly discarded: Usage
  readonly context?: Json
  /** Blobs of the context. */
  readonly blobs?: Entry['blobs']
}

/** A request for a run. */
export interface RunRequest extends Omit<RunRequestedChunk, 'type'> {
  readonly status: 'waiting' | 'started' | 'removed'
  readonly at: number
}

/** A question to a user. It stays in the view after the response. */
export interface Interrupt extends Omit<InterruptChunk, 'type'> {
  readonly runId: string
  readonly lane: string
  readonly agentId: string
  readonly at: number
  readonly status: 'open' | 'answered' | 'void'
  readonly response?: Json
}

/**
 * The result of a hook in a run that has not ended. A later result with the same id replaces it. An id without `/` also removes the
 * hooks whose id starts with it and a `/`; without a result, the hook itself is removed too. Hooks are grouped by run, then by the
 * first segment of the id, then by id, in the order of their first writes.
 */
export interface Hook extends Omit<HookCompletedChunk, 'type'> {
  readonly runId: string
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
  readonly type: 'meta'
  readonly metadata?: JsonObject
  readonly finishReason?: FinishReason
  readonly aborted?: true
}

/** The inverse of a draft on one value: a length or an old value, or neither if the draft created the value. */
export type DraftUndo =
  | { readonly message: string; readonly key: string; readonly part?: Part | MessageMeta; readonly length?: number }
  | { readonly streamId: string; readonly draft: StructuredDraft; readonly at?: number }

/** The open draft of a lane, as the inverses that revert it. */
export interface Draft {
  readonly runId: string
  readonly lane: string
  readonly agentId: string
  readonly undo: readonly DraftUndo[]
}

/** The fold of a session. */
export interface View {
  readonly version: 1
  readonly head: number
  readonly messages: readonly Message[]
  readonly state?: Json
  readonly output?: Json
  readonly structured: readonly StructuredObject[]
  readonly pendings: readonly Pending[]
  readonly interrupts: readonly Interrupt[]
  readonly runs: readonly Run[]
  /** The sub-agents of all runs. */
  readonly agents: readonly Agent[]
  readonly requests: readonly RunRequest[]
  readonly hooks: readonly Hook[]
  /** The sum over all runs, discarded attempts included. */
  readonly usage: Usage
  readonly drafts: readonly Draft[]
  /** The view of internal entries. The server removes it from every response (law 10). */
  readonly internal?: View
}
