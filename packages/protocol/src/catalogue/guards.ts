// One type and one guard for every chunk type. A test compares them with the catalogue.

import type { ChunkOf, ChunkType, DataChunk } from './chunk.ts'

const guard =
  <Type extends ChunkType>(type: Type) =>
  (chunk: { readonly type: string }): chunk is ChunkOf<Type> =>
    chunk.type === type

export type MessageChunk = ChunkOf<'message'>
export const isMessage = /* @__PURE__ */ guard('message')

export type StartChunk = ChunkOf<'start'>
export const isStart = /* @__PURE__ */ guard('start')

export type FinishChunk = ChunkOf<'finish'>
export const isFinish = /* @__PURE__ */ guard('finish')

export type AbortChunk = ChunkOf<'abort'>
export const isAbort = /* @__PURE__ */ guard('abort')

export type MessageMetadataChunk = ChunkOf<'message-metadata'>
export const isMessageMetadata = /* @__PURE__ */ guard('message-metadata')

export type TextStartChunk = ChunkOf<'text-start'>
export const isTextStart = /* @__PURE__ */ guard('text-start')

export type TextDeltaChunk = ChunkOf<'text-delta'>
export const isTextDelta = /* @__PURE__ */ guard('text-delta')

export type TextEndChunk = ChunkOf<'text-end'>
export const isTextEnd = /* @__PURE__ */ guard('text-end')

export type ReasoningStartChunk = ChunkOf<'reasoning-start'>
export const isReasoningStart = /* @__PURE__ */ guard('reasoning-start')

export type ReasoningDeltaChunk = ChunkOf<'reasoning-delta'>
export const isReasoningDelta = /* @__PURE__ */ guard('reasoning-delta')

export type ReasoningEndChunk = ChunkOf<'reasoning-end'>
export const isReasoningEnd = /* @__PURE__ */ guard('reasoning-end')

export type ToolInputStartChunk = ChunkOf<'tool-input-start'>
export const isToolInputStart = /* @__PURE__ */ guard('tool-input-start')

export type ToolInputDeltaChunk = ChunkOf<'tool-input-delta'>
export const isToolInputDelta = /* @__PURE__ */ guard('tool-input-delta')

export type ToolInputAvailableChunk = ChunkOf<'tool-input-available'>
export const isToolInputAvailable = /* @__PURE__ */ guard('tool-input-available')

export type ToolInputErrorChunk = ChunkOf<'tool-input-error'>
export const isToolInputError = /* @__PURE__ */ guard('tool-input-error')

export type ToolApprovalRequestChunk = ChunkOf<'tool-approval-request'>
export const isToolApprovalRequest = /* @__PURE__ */ guard('tool-approval-request')

export type ToolApprovalResponseChunk = ChunkOf<'tool-approval-response'>
export const isToolApprovalResponse = /* @__PURE__ */ guard('tool-approval-response')

export type ToolClaimedChunk = ChunkOf<'tool-claimed'>
export const isToolClaimed = /* @__PURE__ */ guard('tool-claimed')

export type ToolOutputAvailableChunk = ChunkOf<'tool-output-available'>
export const isToolOutputAvailable = /* @__PURE__ */ guard('tool-output-available')

export type ToolOutputErrorChunk = ChunkOf<'tool-output-error'>
export const isToolOutputError = /* @__PURE__ */ guard('tool-output-error')

export type ToolOutputDeniedChunk = ChunkOf<'tool-output-denied'>
export const isToolOutputDenied = /* @__PURE__ */ guard('tool-output-denied')

export type SourceUrlChunk = ChunkOf<'source-url'>
export const isSourceUrl = /* @__PURE__ */ guard('source-url')

export type SourceDocumentChunk = ChunkOf<'source-document'>
export const isSourceDocument = /* @__PURE__ */ guard('source-document')

export type FileChunk = ChunkOf<'file'>
export const isFile = /* @__PURE__ */ guard('file')

export type StructuredDataChunk = ChunkOf<'structured-data'>
export const isStructuredData = /* @__PURE__ */ guard('structured-data')

export type StructuredDataInvalidatedChunk = ChunkOf<'structured-data-invalidated'>
export const isStructuredDataInvalidated = /* @__PURE__ */ guard('structured-data-invalidated')

export type StateSnapshotChunk = ChunkOf<'state-snapshot'>
export const isStateSnapshot = /* @__PURE__ */ guard('state-snapshot')

export type StatePatchChunk = ChunkOf<'state-patch'>
export const isStatePatch = /* @__PURE__ */ guard('state-patch')

export type OutputChunk = ChunkOf<'output'>
export const isOutput = /* @__PURE__ */ guard('output')

export type StepStartChunk = ChunkOf<'step-start'>
export const isStepStart = /* @__PURE__ */ guard('step-start')

export type StepFinishChunk = ChunkOf<'step-finish'>
export const isStepFinish = /* @__PURE__ */ guard('step-finish')

export type CheckpointCreatedChunk = ChunkOf<'checkpoint-created'>
export const isCheckpointCreated = /* @__PURE__ */ guard('checkpoint-created')

export type StepDiscardedChunk = ChunkOf<'step-discarded'>
export const isStepDiscarded = /* @__PURE__ */ guard('step-discarded')

export type SubagentStartChunk = ChunkOf<'subagent-start'>
export const isSubagentStart = /* @__PURE__ */ guard('subagent-start')

export type SubagentEndChunk = ChunkOf<'subagent-end'>
export const isSubagentEnd = /* @__PURE__ */ guard('subagent-end')

export type SessionChunk = ChunkOf<'session'>
export const isSession = /* @__PURE__ */ guard('session')

export type SessionInfoChunk = ChunkOf<'session-info'>
export const isSessionInfo = /* @__PURE__ */ guard('session-info')

export type StatusChunk = ChunkOf<'status'>
export const isStatus = /* @__PURE__ */ guard('status')

export type TransitionChunk = ChunkOf<'transition'>
export const isTransition = /* @__PURE__ */ guard('transition')

export type InterruptChunk = ChunkOf<'interrupt'>
export const isInterrupt = /* @__PURE__ */ guard('interrupt')

export type InterruptResponseChunk = ChunkOf<'interrupt-response'>
export const isInterruptResponse = /* @__PURE__ */ guard('interrupt-response')

export type HookCompletedChunk = ChunkOf<'hook-completed'>
export const isHookCompleted = /* @__PURE__ */ guard('hook-completed')

export type RunContextChunk = ChunkOf<'run-context'>
export const isRunContext = /* @__PURE__ */ guard('run-context')

export type RunRequestedChunk = ChunkOf<'run-requested'>
export const isRunRequested = /* @__PURE__ */ guard('run-requested')

export type RunStartedChunk = ChunkOf<'run-started'>
export const isRunStarted = /* @__PURE__ */ guard('run-started')

export type RunPausedChunk = ChunkOf<'run-paused'>
export const isRunPaused = /* @__PURE__ */ guard('run-paused')

export type RunResumedChunk = ChunkOf<'run-resumed'>
export const isRunResumed = /* @__PURE__ */ guard('run-resumed')

export type StopRequestedChunk = ChunkOf<'stop-requested'>
export const isStopRequested = /* @__PURE__ */ guard('stop-requested')

export type RunFinishedChunk = ChunkOf<'run-finished'>
export const isRunFinished = /* @__PURE__ */ guard('run-finished')

export type RunNotifiedChunk = ChunkOf<'run-notified'>
export const isRunNotified = /* @__PURE__ */ guard('run-notified')

export type ExecutorSupersededChunk = ChunkOf<'executor-superseded'>
export const isExecutorSuperseded = /* @__PURE__ */ guard('executor-superseded')

export type RewindChunk = ChunkOf<'rewind'>
export const isRewind = /* @__PURE__ */ guard('rewind')

export type ErrorChunk = ChunkOf<'error'>
export const isError = /* @__PURE__ */ guard('error')

/** Whether a chunk is application data, `data-<name>`. */
export const isData = (chunk: { readonly type: string }): chunk is DataChunk => chunk.type.startsWith('data-')
