// A guard for every chunk type, with the names of the documentation. The guards for approvals are additions.

import type { StreamMessage } from '../types.ts'

type MessageOf<Type extends StreamMessage['type']> = Extract<StreamMessage, { readonly type: Type }>

const guard =
  <Type extends StreamMessage['type']>(type: Type) =>
  (message: { readonly type: string }): message is MessageOf<Type> =>
    message.type === type

export const isTextDeltaChunk = /* @__PURE__ */ guard('text_delta')
export const isThinkingChunk = /* @__PURE__ */ guard('thinking')
export const isToolArgStreamStartChunk = /* @__PURE__ */ guard('tool_arg_stream_start')
export const isToolArgStreamDeltaChunk = /* @__PURE__ */ guard('tool_arg_stream_delta')
export const isToolArgStreamEndChunk = /* @__PURE__ */ guard('tool_arg_stream_end')
export const isToolStartChunk = /* @__PURE__ */ guard('tool_start')
export const isToolEndChunk = /* @__PURE__ */ guard('tool_end')
export const isToolApprovalRequestChunk = /* @__PURE__ */ guard('tool_approval_request')
export const isToolApprovalResponseChunk = /* @__PURE__ */ guard('tool_approval_response')
export const isToolInputErrorChunk = /* @__PURE__ */ guard('tool_input_error')
export const isToolOutputErrorChunk = /* @__PURE__ */ guard('tool_output_error')
export const isSubAgentStartChunk = /* @__PURE__ */ guard('subagent_start')
export const isSubAgentEndChunk = /* @__PURE__ */ guard('subagent_end')
export const isCustomEventChunk = /* @__PURE__ */ guard('custom')
export const isStatePatchChunk = /* @__PURE__ */ guard('state_patch')
export const isErrorChunk = /* @__PURE__ */ guard('error')
export const isOutputChunk = /* @__PURE__ */ guard('output')
export const isSourceUrlChunk = /* @__PURE__ */ guard('source_url')
export const isSourceDocumentChunk = /* @__PURE__ */ guard('source_document')
export const isStepStartChunk = /* @__PURE__ */ guard('step_start')
export const isStepEndChunk = /* @__PURE__ */ guard('step_end')
export const isFileChunk = /* @__PURE__ */ guard('file')
export const isRunInterruptedChunk = /* @__PURE__ */ guard('run_interrupted')
export const isRunResumedChunk = /* @__PURE__ */ guard('run_resumed')
export const isRunPausedChunk = /* @__PURE__ */ guard('run_paused')
export const isExecutorSupersededChunk = /* @__PURE__ */ guard('executor_superseded')
export const isCheckpointCreatedChunk = /* @__PURE__ */ guard('checkpoint_created')
export const isStepCommittedChunk = /* @__PURE__ */ guard('step_committed')
export const isStepDiscardedChunk = /* @__PURE__ */ guard('step_discarded')
export const isStreamResyncChunk = /* @__PURE__ */ guard('stream_resync')
export const isSuspensionMarkerChunk = /* @__PURE__ */ guard('suspension_marker')
export const isStreamEnd = /* @__PURE__ */ guard('stream_end')
