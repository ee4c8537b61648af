// One table defines every chunk type. Types, guards, validators, zod schemas and the reference page derive from it. The description of
// a row is a comment, so it adds nothing to a bundle.

import { getOwn } from '../json/json.ts'
import type { Chunk } from './chunk.ts'
import type { FieldTypes } from './field-types.ts'
import { isData } from './guards.ts'

/** The groups of the catalogue, in reading order. */
export type ChunkGroup =
  | 'message'
  | 'text'
  | 'reasoning'
  | 'tool'
  | 'content'
  | 'structured'
  | 'state'
  | 'step'
  | 'delegation'
  | 'workflow'
  | 'run'
  | 'error'

export interface Row {
  readonly fields: FieldTypes
  /** Fields that depend on `kind`. */
  readonly kinds?: { readonly [kind: string]: FieldTypes }
  /** A draft chunk: it streams before its commit, and a discard removes it. Other chunks are written with a commit. `preliminary`: only with `preliminary: true`. */
  readonly draft?: true | 'preliminary'
  /** Guests may append it: authors other than the writer of the run, such as a client. */
  readonly guest?: true
}

/** Every chunk type except the open family `data-*`. */
export const catalogue = {
  /** A complete message, such as a user's. The first one of a turn is next to its `run-started`. Its id must not contain `::`, which is reserved for the messages of agents. */
  message: {
    fields: { messageId: 'string', role: 'role', parts: 'content[]', metadata: 'object?' },
  },
  /** Opens the agent's message of this run, before its first content. */
  start: { draft: true, fields: { metadata: 'object?' } },
  /** Closes the agent's message, in the batch that ends its run. */
  finish: { fields: { finishReason: 'finishReason?', metadata: 'object?' } },
  /** Closes the agent's message as cancelled, in the batch that ends its run. */
  abort: { fields: { reason: 'string?' } },
  /** Merges into the metadata of the message: objects are merged deeply, arrays are replaced. */
  'message-metadata': { draft: true, fields: { metadata: 'object' } },

  /** Opens a text part. */
  'text-start': { draft: true, fields: { id: 'string', providerMetadata: 'object?' } },
  /** Appends to a text part. Opens the part if it does not exist. */
  'text-delta': { draft: true, fields: { id: 'string', delta: 'string', providerMetadata: 'object?' } },
  /** Ends a text part. Its id is not used again. */
  'text-end': { draft: true, fields: { id: 'string', providerMetadata: 'object?' } },

  /** Opens a reasoning part. */
  'reasoning-start': { draft: true, fields: { id: 'string', providerMetadata: 'object?' } },
  /** Appends to a reasoning part. Opens the part if it does not exist. */
  'reasoning-delta': {
    draft: true,
    fields: { id: 'string', delta: 'string', providerMetadata: 'object?' },
  },
  /** Ends a reasoning part. Its provider metadata may contain the signature that the next model call needs. */
  'reasoning-end': { draft: true, fields: { id: 'string', providerMetadata: 'object?' } },

  /** Opens a tool call with streamed input. */
  'tool-input-start': {
    draft: true,
    fields: {
      toolCallId: 'string',
      toolName: 'string',
      executor: 'executor?',
      dynamic: 'boolean?',
      title: 'string?',
      providerMetadata: 'object?',
    },
  },
  /** Appends to the JSON text of a tool call's input. */
  'tool-input-delta': { draft: true, fields: { toolCallId: 'string', delta: 'string' } },
  /** The complete input of a tool call. For a client tool it is part of a commit, and `deadline` is the time until which a result is accepted. */
  'tool-input-available': {
    draft: true,
    fields: {
      toolCallId: 'string',
      toolName: 'string',
      input: 'json',
      executor: 'executor?',
      dynamic: 'boolean?',
      title: 'string?',
      deadline: 'number?',
      providerMetadata: 'object?',
    },
  },
  /** The input of a tool call is invalid. The call ends in `output-error` and keeps the partial input. */
  'tool-input-error': {
    draft: true,
    fields: { toolCallId: 'string', toolName: 'string?', errorText: 'string', partialInput: 'json?' },
  },
  /** Requests approval of a tool call, with the exact input that will run. */
  'tool-approval-request': {
    fields: {
      toolCallId: 'string',
      toolName: 'string?',
      approvalId: 'string',
      input: 'json',
      isAutomatic: 'boolean?',
      deadline: 'number?',
    },
  },
  /** Answers a request for approval. `mode` is that of the resume which the answer is part of, for the `run-resumed` that follows. */
  'tool-approval-response': {
    guest: true,
    fields: {
      toolCallId: 'string',
      approvalId: 'string',
      approved: 'boolean',
      reason: 'string?',
      isAutomatic: 'boolean?',
      mode: 'resumeMode?',
    },
  },
  /** A client claims a tool call until the given time, so that two tabs do not both run it. */
  'tool-claimed': { guest: true, fields: { toolCallId: 'string', until: 'number', by: 'string?' } },
  /** The output of a tool call and its executor. A preliminary output is progress. */
  'tool-output-available': {
    draft: 'preliminary',
    guest: true,
    fields: {
      toolCallId: 'string',
      output: 'json',
      executor: 'executor?',
      preliminary: 'boolean?',
      providerMetadata: 'object?',
    },
  },
  /** A tool call failed. */
  'tool-output-error': {
    guest: true,
    fields: { toolCallId: 'string', errorText: 'string', code: 'string?', executor: 'executor?' },
  },
  /** A tool call was denied and will not run. */
  'tool-output-denied': { fields: { toolCallId: 'string', reason: 'string?' } },

  /** A web page that the answer is based on. */
  'source-url': {
    draft: true,
    fields: { sourceId: 'string', url: 'string', title: 'string?', providerMetadata: 'object?' },
  },
  /** A document that the answer is based on. */
  'source-document': {
    draft: true,
    fields: {
      sourceId: 'string',
      title: 'string?',
      mediaType: 'string?',
      filename: 'string?',
      text: 'string?',
      providerMetadata: 'object?',
    },
  },
  /** A file from the agent. A file with an `id` replaces the earlier file with that id. */
  file: {
    draft: true,
    fields: {
      url: 'string',
      mediaType: 'string',
      filename: 'string?',
      id: 'string?',
      providerMetadata: 'object?',
    },
  },

  /** One update of a structured object, by `kind`. */
  'structured-data': {
    draft: true,
    fields: {
      streamId: 'string',
      dataType: 'string',
      schemaId: 'string?',
      schemaVersion: 'string?',
      id: 'string?',
      node: 'string?',
    },
    kinds: {
      set: { path: 'string', value: 'json' },
      append: { path: 'string', items: 'json[]' },
      'text-delta': { path: 'string', delta: 'string' },
      final: { data: 'json' },
    },
  },
  /** Removes a structured object, for example because its final form is invalid. */
  'structured-data-invalidated': {
    draft: true,
    fields: { streamId: 'string', reason: 'string?' },
  },

  /** The complete shared state. */
  'state-snapshot': { fields: { state: 'json' } },
  /** A JSON Patch (RFC 6902) of the shared state, applied completely or not at all. */
  'state-patch': { fields: { patches: 'operation[]' } },
  /** The structured result of the run. */
  output: { fields: { output: 'json' } },

  /** A step starts: one model call with its tools, or one execution of a node. */
  'step-start': { draft: true, fields: { stepId: 'string?', attempt: 'count?' } },
  /** A model call ended, with its usage and finish reason. */
  'step-finish': {
    fields: {
      stepId: 'string?',
      usage: 'usage?',
      finishReason: 'finishReason?',
      warnings: 'json[]?',
      providerMetadata: 'object?',
    },
  },
  /** Ends a commit: makes the draft of its own lane permanent, and no other. */
  'checkpoint-created': {
    fields: { checkpointId: 'string', stepCount: 'count?', closesStep: 'boolean?' },
  },
  /** Discards the draft of its own lane. `usage` repeats the usage in the `step-finish` of the discarded attempt. */
  'step-discarded': {
    fields: { reason: 'string', stepId: 'string?', attempt: 'count?', usage: 'usage?' },
  },

  /** A sub-agent starts, for a tool call of its parent. `agentId` and `lane` are those of the child. */
  'subagent-start': {
    fields: { agentId: 'string', agentType: 'string', toolCallId: 'string', lane: 'string?' },
  },
  /** A sub-agent ended. Makes the drafts of its lanes permanent. */
  'subagent-end': {
    fields: {
      agentId: 'string',
      agentType: 'string',
      toolCallId: 'string',
      status: 'runStatus',
      result: 'json?',
      reason: 'string?',
    },
  },

  /** The id of the session, for clients that store it. */
  session: { fields: { sessionId: 'string' } },
  /** The title and metadata of the session. A missing field keeps its value. */
  'session-info': { guest: true, fields: { title: 'string?', metadata: 'object?' } },
  /** A progress message for users. */
  status: { fields: { message: 'string' } },
  /** The run continues in another workflow. */
  transition: { fields: { transitionTo: 'string', payload: 'json?' } },
  /** Asks a user a question. The lane waits for the response. */
  interrupt: {
    fields: {
      interruptId: 'string',
      input: 'question',
      schemaId: 'string?',
      schemaVersion: 'string?',
      meta: 'object?',
      deadline: 'number?',
    },
  },
  /** Answers an interrupt. */
  'interrupt-response': { guest: true, fields: { interruptId: 'string', response: 'json' } },
  /** The result of a hook, so that a restarted node does not run the hook again. */
  'hook-completed': {
    fields: { hookId: 'string', hook: 'string', result: 'json?', emissions: 'count?' },
  },
  /** The result of the server's `context` function for this run. */
  'run-context': { fields: { context: 'json' } },

  /** Requests a run. Every run starts from a request. */
  'run-requested': {
    guest: true,
    fields: {
      runId: 'string',
      program: 'string',
      message: 'input?',
      cut: 'cut?',
      resume: 'resume?',
      whenBusy: 'whenBusy?',
      data: 'json?',
    },
  },
  /** A run starts. `resumes` is the id of the interrupted run that it continues. */
  'run-started': { fields: { program: 'string', resumes: 'string?' } },
  /** Every lane of the run waits. `awaits` lists what for, as far as entries describe it. `checkpointId` and `stepCount` are those of the last checkpoint on the main lane, from which the run resumes. From `notifyBy` on, other processes than the writer may notify the observers. `line` is the last line of text, for session lists. */
  'run-paused': {
    fields: {
      reason: 'string?',
      awaits: 'awaited[]',
      checkpointId: 'string?',
      stepCount: 'count?',
      notifyBy: 'number?',
      line: 'string?',
    },
  },
  /** A paused run continues. Next to a `run-started`: the run continues an interrupted run. The checkpoint is the last one before it. */
  'run-resumed': {
    fields: { mode: 'resumeMode', fromCheckpointId: 'string?', fromStepCount: 'count?' },
  },
  /** Requests that a run stops, or withdraws the request for a run. `mode` defaults to `interrupt`. */
  'stop-requested': {
    guest: true,
    fields: { runId: 'string', mode: 'stopMode?', reason: 'string?' },
  },
  /** The end of a run. Makes all its drafts permanent. From `notifyBy` on, other processes than the writer may notify the observers. `line` is the last line of text, for session lists. */
  'run-finished': {
    fields: {
      status: 'runStatus',
      checkpointId: 'string?',
      reason: 'string?',
      notifyBy: 'number?',
      line: 'string?',
    },
  },
  /** The observers were notified of the pause or end with this `notifyBy`. With `until`: a process has claimed the notification until then. Internal. */
  'run-notified': { guest: true, fields: { runId: 'string', notifyBy: 'number', until: 'number?' } },
  /** Another writer took over the run. */
  'executor-superseded': { fields: { reason: 'string?' } },
  /** Rewinds the content of the session to an earlier sequence. Requests, answers and usage stay. */
  rewind: { fields: { toSequence: 'count', reason: 'string' } },

  /** An error. It does not say whether the run ends. */
  error: {
    fields: {
      message: 'string',
      code: 'string?',
      category: 'string?',
      retryable: 'boolean?',
      recoverable: 'boolean?',
    },
  },
} as const satisfies Record<string, Row>

/** The open family `data-*`, with any name after the dash. A chunk with an `id` replaces the part with that id. A transient chunk is not part of the view. */
export const dataRow = {
  draft: true,
  fields: { data: 'json', id: 'string?', transient: 'boolean?' },
} as const satisfies Row

const rowOf = (type: string): Row | undefined => getOwn<Row>(catalogue, type)

/** Whether a chunk is part of a draft: it streams before its commit, and a discard removes it. */
export function isDraftChunk(chunk: Chunk): boolean {
  const draft = isData(chunk) || rowOf(chunk.type)?.draft
  return draft === 'preliminary' ? (chunk as { preliminary?: boolean }).preliminary === true : draft === true
}

/** Whether a guest may append a chunk of this type. */
export const isGuestChunk = (type: string): boolean => rowOf(type)?.guest === true

/** The types whose name does not start with their group. */
const groups: { readonly [Group in ChunkGroup]?: readonly string[] } = {
  message: ['start', 'finish', 'abort'],
  content: ['source-url', 'source-document', 'file'],
  state: ['output'],
  step: ['checkpoint-created'],
  delegation: ['subagent-start', 'subagent-end'],
  workflow: [
    'session',
    'session-info',
    'status',
    'transition',
    'interrupt',
    'interrupt-response',
    'hook-completed',
    'run-context',
  ],
  run: ['stop-requested', 'executor-superseded', 'rewind'],
}

/** The group of a chunk type (`data-*` belongs to `content`); undefined for a type that the catalogue does not list. */
export function groupOf(type: string): ChunkGroup | undefined {
  const named = (Object.keys(groups) as ChunkGroup[]).find(group => groups[group]?.includes(type))
  return named ?? (rowOf(type) && (type.split('-')[0] as ChunkGroup))
}
