// One table of data defines every chunk type. Types, guards, validators, zod schemas and the reference page come from it. The doc line of
// a row is its comment, so that it costs a browser nothing.

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
  /** A word streams ahead as part of a draft, and a discard takes it back; all else is a fact (only a preliminary output is a word). */
  readonly word?: true | 'preliminary'
  /** A guest, that is anyone but the writer, may append it. */
  readonly guest?: true
}

/** Every chunk type but the open `data-*`. */
export const catalogue = {
  /** A whole message, such as a user's; the first of a turn stands next to its `run-started`. Its id must not contain `::`, which marks the messages of agents. */
  message: {
    fields: { messageId: 'string', role: 'role', parts: 'content[]', metadata: 'object?' },
  },
  /** Opens the agent's message of this run, before anything is in it. */
  start: { word: true, fields: { metadata: 'object?' } },
  /** Closes the agent's message, in the batch that ends its run. */
  finish: { fields: { finishReason: 'finishReason?', metadata: 'object?' } },
  /** Closes the agent's message as cancelled, in the batch that ends its run. */
  abort: { fields: { reason: 'string?' } },
  /** Merges into the message's metadata: objects deeply, arrays replaced. */
  'message-metadata': { word: true, fields: { metadata: 'object' } },

  /** Opens a text part. */
  'text-start': { word: true, fields: { id: 'string', providerMetadata: 'object?' } },
  /** Appends to a text part, and opens it if need be. */
  'text-delta': { word: true, fields: { id: 'string', delta: 'string', providerMetadata: 'object?' } },
  /** Ends a text part; nothing follows under its id. */
  'text-end': { word: true, fields: { id: 'string', providerMetadata: 'object?' } },

  /** Opens a reasoning part. */
  'reasoning-start': { word: true, fields: { id: 'string', providerMetadata: 'object?' } },
  /** Appends to a reasoning part, and opens it if need be. */
  'reasoning-delta': {
    word: true,
    fields: { id: 'string', delta: 'string', providerMetadata: 'object?' },
  },
  /** Ends a reasoning part; its provider metadata may hold the signature that the next call needs. */
  'reasoning-end': { word: true, fields: { id: 'string', providerMetadata: 'object?' } },

  /** Opens a tool call whose input streams. */
  'tool-input-start': {
    word: true,
    fields: {
      toolCallId: 'string',
      toolName: 'string',
      executor: 'executor?',
      dynamic: 'boolean?',
      title: 'string?',
      providerMetadata: 'object?',
    },
  },
  /** Appends to the JSON text of a call's input. */
  'tool-input-delta': { word: true, fields: { toolCallId: 'string', delta: 'string' } },
  /** The whole input of a call; that of a client’s tool stands in a commit, and says until when an answer counts. */
  'tool-input-available': {
    word: true,
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
  /** The input of a call could not be read; the call ends in `output-error` and keeps what had arrived. */
  'tool-input-error': {
    word: true,
    fields: { toolCallId: 'string', toolName: 'string?', errorText: 'string', partialInput: 'json?' },
  },
  /** Asks for approval of a call, showing the exact input that will run. */
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
  /** Settles a request for approval. */
  'tool-approval-response': {
    guest: true,
    fields: {
      toolCallId: 'string',
      approvalId: 'string',
      approved: 'boolean',
      reason: 'string?',
      isAutomatic: 'boolean?',
    },
  },
  /** A client takes a call upon itself until a stated time, so that two tabs do not both run it. */
  'tool-claimed': { guest: true, fields: { toolCallId: 'string', until: 'number', by: 'string?' } },
  /** The output of a call, and who executed it; a preliminary one is progress. */
  'tool-output-available': {
    word: 'preliminary',
    guest: true,
    fields: {
      toolCallId: 'string',
      output: 'json',
      executor: 'executor?',
      preliminary: 'boolean?',
      providerMetadata: 'object?',
    },
  },
  /** A call failed. */
  'tool-output-error': {
    guest: true,
    fields: { toolCallId: 'string', errorText: 'string', code: 'string?', executor: 'executor?' },
  },
  /** A call was denied and will not run. */
  'tool-output-denied': { fields: { toolCallId: 'string', reason: 'string?' } },

  /** A page that the answer rests on. */
  'source-url': {
    word: true,
    fields: { sourceId: 'string', url: 'string', title: 'string?', providerMetadata: 'object?' },
  },
  /** A document that the answer rests on. */
  'source-document': {
    word: true,
    fields: {
      sourceId: 'string',
      title: 'string?',
      mediaType: 'string?',
      filename: 'string?',
      text: 'string?',
      providerMetadata: 'object?',
    },
  },
  /** A file that the agent made; one with an `id` replaces the file of that id. */
  file: {
    word: true,
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
    word: true,
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
  /** Takes a structured object away, for instance because its final form did not validate. */
  'structured-data-invalidated': {
    word: true,
    fields: { streamId: 'string', reason: 'string?' },
  },

  /** The whole shared state. */
  'state-snapshot': { fields: { state: 'json' } },
  /** A change of the shared state, by RFC 6902, applied whole or not at all. */
  'state-patch': { fields: { patches: 'operation[]' } },
  /** The structured result of the run. */
  output: { fields: { output: 'json' } },

  /** A step begins: one model call with its tools, or one execution of a node. */
  'step-start': { word: true, fields: { stepId: 'string?', attempt: 'count?' } },
  /** A model call ended, with what it used and why it stopped. */
  'step-finish': {
    fields: {
      stepId: 'string?',
      usage: 'usage?',
      finishReason: 'finishReason?',
      warnings: 'json[]?',
      providerMetadata: 'object?',
    },
  },
  /** Ends a commit: seals the draft of its own lane, and no other. */
  'checkpoint-created': {
    fields: { checkpointId: 'string', stepCount: 'count?', closesStep: 'boolean?' },
  },
  /** Takes back the draft of its own lane; `usage` repeats what the `step-finish` of the discarded attempt had counted. */
  'step-discarded': {
    fields: { reason: 'string', stepId: 'string?', attempt: 'count?', usage: 'usage?' },
  },

  /** A sub-agent begins, for a call of its parent; `agentId` and `lane` are the child's. */
  'subagent-start': {
    fields: { agentId: 'string', agentType: 'string', toolCallId: 'string', lane: 'string?' },
  },
  /** A sub-agent ended; seals the drafts of its lanes. */
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

  /** Names the session, for clients that keep it. */
  session: { fields: { sessionId: 'string' } },
  /** What a person calls the session; what is not named stays as it was. */
  'session-info': { guest: true, fields: { title: 'string?', metadata: 'object?' } },
  /** A line for people about what the run is doing. */
  status: { fields: { message: 'string' } },
  /** The run goes on in another workflow. */
  transition: { fields: { transitionTo: 'string', payload: 'json?' } },
  /** Asks a person; the lane waits for the answer. */
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
  /** Settles an interrupt. */
  'interrupt-response': { guest: true, fields: { interruptId: 'string', response: 'json' } },
  /** What a hook returned, so that a node which starts again does not ask again. */
  'hook-completed': {
    fields: { hookId: 'string', hook: 'string', result: 'json?', emissions: 'count?' },
  },
  /** What the server's own `context` returned for this run. */
  'run-context': { fields: { context: 'json' } },

  /** Asks for a run; every start is a request that was consumed. */
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
  /** A run begins; `resumes` names an interrupted run that it goes on from. */
  'run-started': { fields: { program: 'string', resumes: 'string?' } },
  /** No lane of the run can go on; says what each waits for, as far as an entry holds it, and from when on others than the writer are to tell the observers; `line` is the last line that was said, for lists. */
  'run-paused': {
    fields: { reason: 'string?', awaits: 'awaited[]', notifyBy: 'number?', line: 'string?' },
  },
  /** A paused run goes on; or, next to its `run-started`, a run goes on from an interrupted one. */
  'run-resumed': {
    fields: { mode: 'resumeMode', fromCheckpointId: 'string?', fromStepCount: 'count?' },
  },
  /** Asks the named run to stop, as interrupted if nothing else is said, or takes the named request back. */
  'stop-requested': {
    guest: true,
    fields: { runId: 'string', mode: 'stopMode?', reason: 'string?' },
  },
  /** The one end of a run; seals every draft of it. Says from when on others than the writer are to tell the observers; `line` is the last line that was said, for lists. */
  'run-finished': {
    fields: {
      status: 'runStatus',
      checkpointId: 'string?',
      reason: 'string?',
      notifyBy: 'number?',
      line: 'string?',
    },
  },
  /** The observers were told of that pause or end; with `until`, somebody takes that upon itself, and others are to from then on. Internal. */
  'run-notified': { guest: true, fields: { runId: 'string', notifyBy: 'number', until: 'number?' } },
  /** Another writer took the run over. */
  'executor-superseded': { fields: { reason: 'string?' } },
  /** Takes the session back to an earlier place; only what it shows, never what was asked, answered or used. */
  rewind: { fields: { toSequence: 'count', reason: 'string' } },

  /** Something went wrong; says nothing about whether the run ends. */
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

/** The open family `data-*`: any name after the dash. One with an `id` replaces its part in place; a transient one is never kept. */
export const dataRow = {
  word: true,
  fields: { data: 'json', id: 'string?', transient: 'boolean?' },
} as const satisfies Row

const rowOf = (type: string): Row | undefined => getOwn<Row>(catalogue, type)

/** Whether a chunk is a word, which a discard takes back, and not a fact. */
export function isWord(chunk: Chunk): boolean {
  const word = isData(chunk) || rowOf(chunk.type)?.word
  return word === 'preliminary' ? (chunk as { preliminary?: boolean }).preliminary === true : word === true
}

/** Whether a guest may append a chunk of this type. */
export const isGuestChunk = (type: string): boolean => rowOf(type)?.guest === true

/** The types whose first word is not the name of their group. */
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
