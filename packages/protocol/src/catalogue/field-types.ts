// The notation of the catalogue, and the named types of its fields.
//
// A field is written as the name of its type: a basic type (string, number, count, sequence, boolean, true, 1, json, object) or one of
// `types`. The suffix `[]` makes it an array, `{}` a record with any keys, and `?` optional.

/** Fields by name, each as the name of its type. */
export type FieldTypes = { readonly [name: string]: string }
/** A union of objects by the discriminator field `on`. `data-*` matches any name after the dash; `open` accepts unknown values. */
export type Kinds = {
  readonly on: string
  readonly open?: true
  readonly kinds: { readonly [value: string]: FieldTypes }
}
/** An enum of strings, an object, or a discriminated union. */
export type NamedType = readonly string[] | { readonly fields: FieldTypes } | Kinds

/** The named types that fields refer to. */
export const types = {
  /** The side that executes a tool. */
  executor: ['server', 'client', 'provider'],
  /** The author of a message. */
  role: ['user', 'assistant', 'system'],
  /** Why a model stopped. */
  finishReason: ['stop', 'length', 'tool-calls', 'content-filter', 'error', 'other'],
  /** Status with which a run or a sub-agent ended. */
  runStatus: ['completed', 'failed', 'interrupted', 'aborted'],
  /** Why a run-scoped connection ended: the status of the ended run, or `paused`. */
  endStatus: ['completed', 'failed', 'interrupted', 'aborted', 'paused'],
  /** Whether the open run is paused. */
  liveStatus: ['paused', 'active'],
  /** Why a cursor does not match the log. */
  truncation: ['incarnation', 'epoch', 'past-head', 'below-floor'],
  /** Mode in which a paused or interrupted run continues. */
  resumeMode: ['continue', 'with-message', 'with-confirmation', 'from-checkpoint'],
  /** Mode of a stop: another run can resume an interrupted run, but not an aborted one. */
  stopMode: ['interrupt', 'abort'],
  /** Reaction to a request while another run is open. */
  whenBusy: ['reject', 'queue', 'interrupt-previous'],
  /** The token usage of a model call. A count that the provider does not report is missing. */
  usage: {
    fields: {
      inputTokens: 'count?',
      outputTokens: 'count?',
      totalTokens: 'count?',
      reasoningTokens: 'count?',
      cachedTokens: 'count?',
      cacheWriteTokens: 'count?',
    },
  },
  /** One part of a complete message. Unlisted kinds are kept unchanged. */
  content: {
    on: 'type',
    open: true,
    kinds: {
      text: { text: 'string' },
      reasoning: { text: 'string' },
      file: { url: 'string', mediaType: 'string', filename: 'string?' },
      'source-url': { sourceId: 'string', url: 'string', title: 'string?' },
      'source-document': {
        sourceId: 'string',
        title: 'string?',
        mediaType: 'string?',
        filename: 'string?',
        text: 'string?',
      },
      'data-*': { data: 'json' },
    },
  },
  /** The first message of a requested run. */
  input: { fields: { messageId: 'string', role: 'role', parts: 'content[]', metadata: 'object?' } },
  /** The rewind of the session before a requested run starts. */
  cut: { fields: { toSequence: 'count', reason: 'string' } },
  /** The run that a request continues, how, and from which checkpoint. */
  resume: {
    fields: { runId: 'string', mode: 'resumeMode', fromCheckpointId: 'string?', fromStepCount: 'count?' },
  },
  /** One operation of a JSON Patch (RFC 6902). */
  operation: {
    on: 'op',
    kinds: {
      add: { path: 'string', value: 'json' },
      remove: { path: 'string' },
      replace: { path: 'string', value: 'json' },
      move: { from: 'string', path: 'string' },
      copy: { from: 'string', path: 'string' },
      test: { path: 'string', value: 'json' },
    },
  },
  /** One option of a choice. */
  option: { fields: { id: 'string', label: 'string', description: 'string?' } },
  /** A question to a user. */
  question: {
    on: 'kind',
    kinds: {
      text: { question: 'string?', multiple: 'boolean?' },
      choice: { question: 'string', options: 'option[]', multiple: 'boolean?' },
      'multi-choice': { question: 'string', options: 'option[]', multiple: 'boolean?' },
      form: { question: 'string?', schema: 'json' },
    },
  },
  /** Something that a lane waits for. */
  awaited: {
    on: 'kind',
    kinds: {
      approval: { id: 'string', toolCallId: 'string', toolName: 'string?', deadline: 'number?' },
      'client-tool': { id: 'string', toolCallId: 'string', toolName: 'string?', deadline: 'number?' },
      interrupt: { id: 'string', deadline: 'number?' },
      children: { id: 'string', agentIds: 'string[]' },
    },
  },
  /** An error of a connection. `retryable`: the same request may succeed later. */
  failure: { fields: { code: 'string', message: 'string', retryable: 'boolean?' } },
  /** A reference to a large value that is stored as a blob. */
  blob: { fields: { hash: 'string', bytes: 'count' } },
} as const satisfies Record<string, NamedType>
