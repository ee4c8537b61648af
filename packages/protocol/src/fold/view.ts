// The view: what a session's log says, as plain JSON. It carries what a discard needs, so that a snapshot can be folded on.

import type { Content, Executor, FinishReason, PendingRef, Role, RunStatus, Usage } from '../catalogue/chunk.ts'
import type { ErrorChunk, HookCompletedChunk, InterruptChunk, RunRequestedChunk } from '../catalogue/guards.ts'
import type { Entry } from '../entry/entry.ts'
import type { Json, JsonObject } from '../json/json.ts'
import type { StructuredDraft, StructuredState } from '../structured/structured-accumulator.ts'

/** The version of the fold that made a view; another version folds again instead of going on from it (law 12). */
export const FOLD_VERSION = 1

export interface PartBase {
  /** Unique in its message, and the same for as long as the part lives. */
  readonly key: string
  /** The sequence of its first write. */
  readonly at: number
  /** Where large values went that are `null` here, by JSON pointer into the chunk that said them last. */
  readonly blobs?: Entry['blobs']
}

/** Text for people, or the model's reasoning. */
export interface TextPart extends PartBase {
  readonly type: 'text' | 'reasoning'
  readonly id: string
  readonly text: string
  readonly state: 'streaming' | 'done'
  readonly providerMetadata?: JsonObject
}

export type ToolState =
  | 'input-streaming'
  | 'input-available'
  | 'approval-requested'
  | 'approval-responded'
  | 'output-available'
  | 'output-error'
  | 'output-denied'

/** A tool call, from its first character to its outcome. */
export interface ToolPart extends PartBase {
  readonly type: 'tool' | 'dynamic-tool'
  readonly toolCallId: string
  readonly toolName: string
  readonly state: ToolState
  readonly executor?: Executor
  readonly title?: string
  /** While it streams, as much of the input as has arrived. */
  readonly input?: Json
  /** The JSON text of the input, while it streams. */
  readonly inputText?: string
  /** The latest preliminary output: progress, not an outcome. */
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
  /** Until when an answer to a client’s tool counts. */
  readonly deadline?: number
  /** The client that has taken the call upon itself. */
  readonly claim?: { readonly until: number; readonly by?: string }
  readonly providerMetadata?: JsonObject
}

/** A part that arrives whole: a source, a file, an application's data, the mark of a step. */
export type ContentPart = PartBase & { readonly id?: string } & (
    | Exclude<Content, { type: 'text' | 'reasoning' }>
    | { readonly type: 'step-start'; readonly stepId?: string; readonly attempt?: number }
  )

export type Part = TextPart | ToolPart | ContentPart

export type MessageStatus = 'sending' | 'streaming' | 'sent' | 'cancelled' | 'error'

/** An error as people and programs see it. */
export type ErrorInfo = Readonly<Omit<ErrorChunk, 'type'>>

export interface Message {
  readonly id: string
  readonly role: Role
  readonly status: MessageStatus
  /** The sequence of its first surviving write. */
  readonly at: number
  readonly createdAt: number
  readonly parts: readonly Part[]
  readonly metadata?: JsonObject
  readonly finishReason?: FinishReason
  readonly error?: ErrorInfo
  /** The run and agent that it belongs to; a whole message, such as a user's, belongs to none. */
  readonly runId?: string
  readonly agentId?: string
  readonly agentType?: string
  /** For a sub-agent: the message and the call that it works for. */
  readonly parent?: { readonly messageId: string; readonly toolCallId: string }
  /** Where its metadata was first written, if it was. */
  readonly metaAt?: number
  readonly aborted?: true
}

/** A sub-agent of a run. */
export interface Agent {
  readonly runId: string
  readonly agentId: string
  readonly agentType: string
  readonly toolCallId: string
  readonly parentId: string
  /** Where it works, as far as it said. */
  readonly lane?: string
  readonly startedAt: number
  /** Once it has ended. */
  readonly status?: RunStatus
  readonly result?: Json
  readonly reason?: string
}

export interface Run {
  readonly runId: string
  readonly program?: string
  readonly status: 'running' | 'paused' | RunStatus
  /** The sequence of its `run-started`. */
  readonly at: number
  readonly startedAt: number
  readonly finishedAt?: number
  readonly reason?: string
  readonly checkpointId?: string
  readonly resumes?: string
  readonly error?: ErrorInfo
  /** What a paused run waits for. */
  readonly awaits?: readonly PendingRef[]
  readonly stopRequested?: true
  /** How often it was taken over since its last commit: a run that keeps killing who drives it gets no further. */
  readonly takeovers?: number
  /** The latest line for people about what it is doing. */
  readonly note?: string
  /** All that was used, discarded attempts included. */
  readonly usage: Usage
  /** The share of it that discarded attempts used. */
  readonly discarded: Usage
  readonly context?: Json
  /** Of the context. */
  readonly blobs?: Entry['blobs']
}

/** A run that was asked for. */
export interface RunRequest extends Omit<RunRequestedChunk, 'type'> {
  readonly status: 'waiting' | 'started' | 'removed'
  readonly at: number
}

/** A question to a person; its record outlives the answer. */
export interface Interrupt extends Omit<InterruptChunk, 'type'> {
  readonly runId: string
  readonly lane: string
  readonly agentId: string
  readonly at: number
  readonly status: 'open' | 'answered' | 'void'
  readonly response?: Json
}

/**
 * What a hook returned, in a run that has not ended. The last word under an id stands; an id with no `/` also ends those that begin with it and
 * a `/`, and without a result nothing is left of it itself. They stand by run, then by the first piece of the id, then by id, each where it was first written.
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

/** What a message holds beside its parts; to the fold, one more part, which has its own place in the view. */
export interface Meta extends PartBase {
  readonly type: 'meta'
  readonly metadata?: JsonObject
  readonly finishReason?: FinishReason
  readonly aborted?: true
}

/** What a discard restores: of one value each, a length or an old value; nothing, where the draft itself opened it. */
export type Undo =
  | { readonly message: string; readonly key: string; readonly part?: Part | Meta; readonly length?: number }
  | { readonly streamId: string; readonly draft: StructuredDraft; readonly at?: number }

/** A lane's words since its last commit, as what takes them back. */
export interface Draft {
  readonly runId: string
  readonly lane: string
  readonly agentId: string
  readonly undo: readonly Undo[]
}

/** The fold of a session. */
export interface View {
  readonly version: typeof FOLD_VERSION
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
  /** What internal entries say; the server cuts it off before anything leaves it (law 10). */
  readonly internal?: View
}
