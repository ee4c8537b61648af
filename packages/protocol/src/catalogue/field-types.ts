// The notation of the table, and the types that its fields refer to by name.
//
// A field is written as the name of its type: a basic one (string, number, count, sequence, boolean, true, 1, json, object) or one of
// `types`, with `[]` for an array, `{}` for an object of such values under any keys, and `?` for a field that may be missing.

/** Fields by name, each as the name of its type. */
export type FieldTypes = { readonly [name: string]: string }
/** Fields that depend on the value of one field, the discriminator `on`; `data-*` is any name after the dash, `open` lets unknown values through. */
export type Kinds = {
  readonly on: string
  readonly open?: true
  readonly kinds: { readonly [value: string]: FieldTypes }
}
/** Some strings, an object, or one of several objects. */
export type NamedType = readonly string[] | { readonly fields: FieldTypes } | Kinds

/** The named types that fields refer to. */
export const types = {
  /** Who runs a tool. */
  executor: ['server', 'client', 'provider'],
  /** Who speaks in a message. */
  role: ['user', 'assistant', 'system'],
  /** Why a model stopped. */
  finishReason: ['stop', 'length', 'tool-calls', 'content-filter', 'error', 'other'],
  /** How a run or a sub-agent ended. */
  runStatus: ['completed', 'failed', 'interrupted', 'aborted'],
  /** How a run-scoped connection ended: with the run, or because the run waits. */
  endStatus: ['completed', 'failed', 'interrupted', 'aborted', 'paused'],
  /** Whether the open run waits or goes on. */
  liveStatus: ['paused', 'active'],
  /** Why a cursor does not match what the log holds. */
  truncation: ['incarnation', 'epoch', 'past-head', 'below-floor'],
  /** How a paused or interrupted run goes on. */
  resumeMode: ['continue', 'with-message', 'with-confirmation', 'from-checkpoint'],
  /** How a run is asked to stop: so that it can be resumed, or for good. */
  stopMode: ['interrupt', 'abort'],
  /** What becomes of a request while another run is open. */
  whenBusy: ['reject', 'queue', 'interrupt-previous'],
  /** What a model call used, in tokens; one that the provider does not tell is missing. */
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
  /** One part of a whole message; a kind that is not listed is kept as it is. */
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
  /** The message that a requested run begins with. */
  input: { fields: { messageId: 'string', role: 'role', parts: 'content[]', metadata: 'object?' } },
  /** Where a requested run cuts the session before it begins. */
  cut: { fields: { toSequence: 'count', reason: 'string' } },
  /** The run that a request goes on from, how, and from which of its checkpoints. */
  resume: {
    fields: { runId: 'string', mode: 'resumeMode', fromCheckpointId: 'string?', fromStepCount: 'count?' },
  },
  /** One operation of RFC 6902. */
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
  /** One answer to choose. */
  option: { fields: { id: 'string', label: 'string', description: 'string?' } },
  /** What a person is asked. */
  question: {
    on: 'kind',
    kinds: {
      text: { question: 'string?', multiple: 'boolean?' },
      choice: { question: 'string', options: 'option[]', multiple: 'boolean?' },
      'multi-choice': { question: 'string', options: 'option[]', multiple: 'boolean?' },
      form: { question: 'string?', schema: 'json' },
    },
  },
  /** What a lane waits for. */
  awaited: {
    on: 'kind',
    kinds: {
      approval: { id: 'string', toolCallId: 'string', toolName: 'string?', deadline: 'number?' },
      'client-tool': { id: 'string', toolCallId: 'string', toolName: 'string?', deadline: 'number?' },
      interrupt: { id: 'string', deadline: 'number?' },
      children: { id: 'string', agentIds: 'string[]' },
    },
  },
  /** What is the matter with a connection, for programs and for people; `retryable` says that the same again may do. */
  failure: { fields: { code: 'string', message: 'string', retryable: 'boolean?' } },
  /** Where a large value went: the store's blob by its hash. */
  blob: { fields: { hash: 'string', bytes: 'count' } },
} as const satisfies Record<string, NamedType>
