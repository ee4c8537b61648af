// Every name on the five pages that docs/reference/seeds.md covers, maintained by hand. A line is a name, or a name with its fields.

export const names: { readonly [page: string]: string } = {
  'Helix Agents: Stream Protocol': `
    BaseChunkSchema: agentId agentType timestamp step
    text_delta: delta
    thinking: content isComplete
    tool_arg_stream_start: toolCallId toolName
    tool_arg_stream_delta: toolCallId delta
    tool_arg_stream_end: toolCallId
    tool_start: toolCallId toolName arguments
    tool_end: toolCallId toolName result error errorCode providerExecuted
    tool_approval_request: toolCallId toolName approvalId input isAutomatic
    tool_approval_response: toolCallId toolName approvalId approved reason isAutomatic
    tool_input_error: toolCallId toolName error partialInput
    tool_output_error: toolCallId toolName error
    subagent_start: subAgentType subSessionId callId
    subagent_end: subAgentType subSessionId callId result
    custom: eventName data
    state_patch: patches
    error: error code errorDetail errorDetail.message errorDetail.code errorDetail.category errorDetail.cause errorDetail.retryable recoverable
    output: output
    source_url: sourceId url title
    source_document: sourceId mediaType title filename
    step_start: stepId
    step_end: stepId usage usage.inputTokens usage.outputTokens usage.cachedTokens usage.cacheWriteTokens finishReason
    file: url mediaType filename
    run_interrupted: runId checkpointId reason
    run_resumed: runId fromCheckpointId fromStepCount mode
    run_paused: runId reason pendingToolName pendingToolCallId
    executor_superseded: reason
    checkpoint_created: runId checkpointId stepCount
    step_committed: runId stepId checkpointId
    step_discarded: runId stepId reason
    stream_resync: checkpointId stepCount messageCount fromSequence reason
    suspension_marker: kind payload payload.toolCallIds payload.stepId payload.children
    stream_end: streamId timestamp finalOutput
    StreamEndSentinel: __streamEnd status error
    StoredChunk: chunk sequence
    ResumableStreamReader: status
    chunk: chunk sequence
    end: finalOutput
    fail: error
    status: status
    truncated: truncatedAtStep atSequence
    TextDeltaChunk ThinkingChunk ToolArgStreamStartChunk ToolArgStreamDeltaChunk ToolArgStreamEndChunk
    ToolStartChunk ToolEndChunk ToolApprovalRequestChunk ToolApprovalResponseChunk ToolInputErrorChunk
    ToolOutputErrorChunk SubAgentStartChunk SubAgentEndChunk CustomEventChunk StatePatchChunk ErrorChunk OutputChunk
    SourceUrlChunk SourceDocumentChunk StepStartChunk StepEndChunk FileChunk RunInterruptedChunk RunResumedChunk
    RunPausedChunk ExecutorSupersededChunk CheckpointCreatedChunk StepCommittedChunk StepDiscardedChunk
    StreamResyncChunk SuspensionMarkerChunk StreamEnd StreamEvent StreamChunkEvent StreamEndEvent StreamFailEvent
    StreamStatusEvent StreamTruncatedEvent isTextDeltaChunk isThinkingChunk isToolStartChunk isToolEndChunk
    isSubAgentStartChunk isSubAgentEndChunk isCustomEventChunk isStatePatchChunk isErrorChunk isOutputChunk
    isToolArgStreamStartChunk isToolArgStreamDeltaChunk isToolArgStreamEndChunk isToolInputErrorChunk
    isToolOutputErrorChunk isSourceUrlChunk isSourceDocumentChunk isStepStartChunk isStepEndChunk isFileChunk
    isRunInterruptedChunk isRunResumedChunk isExecutorSupersededChunk isRunPausedChunk isCheckpointCreatedChunk
    isStepCommittedChunk isStepDiscardedChunk isStreamResyncChunk isSuspensionMarkerChunk isStreamEnd
    filterByAgentId filterByAgentType filterByType excludeTypes filterWith combineStreams take skip collectText
    collectAll StreamChunk StreamChunkSchema StreamMessageSchema JSONPatchOperation CLIENT_TOOL_ERROR_CODES
    client_tool_timeout aborted HelixChatTransport extractToolOutputs finishWith requireApproval submitToolResult
    client-tool-result approval-response suspended_client_tool suspended_awaiting_children suspended_step_partial
    AgentResult.status AgentResult.suspended RunOutcome.kind handle.result executor.resume ToolContext.emit
    outputSchema HelixError provider_overloaded provider_rate_limited add remove replace move copy test stop length
    tool-calls content-filter other continue with_message with_confirmation from_checkpoint StaleStateError
    crash_recovery rollback branch retry /snapshot /submit-tool-result cleanupToStep minSequence startSequence
    cleanedUpOrphans streamSequence latestSequence resolveCheckpointStreamSequence SuspendedChildWaitPayload
    runtime-js runtime-cloudflare runtime-temporal runtime-dbos createWriter writer.write writer.close createReader
    endStream failStream STREAM_END_SENTINEL createResumableReader createResumableReader.fromSequence
    ResumableStreamStatus active ended failed paused StreamTruncatedError __truncated_at_step truncated_at_step
    X-Resume-From-Sequence Last-Event-ID X-Existing-Message-Id extractResumePosition prepare-helix-chat-request.ts
    StreamChunkSchema.safeParse @helix-agents/core InMemoryStreamManager StreamServer XADD XREAD StreamEvent.type
  `,
  'Kortyx: Hooks': `
    useReason useInterrupt useNodeState useWorkflowState useRuntimeContext useStructuredData kortyx streamId kind
    structured-data text-* useReason.outputSchema useReason.interrupt useReason.structured
    useReason.structured.fields useReason.emit ui.message data useReason.text useReason.output useReason.raw
    useReason.usage useReason.finishReason useReason.providerMetadata useReason.warnings useReason.interruptResponse
    state.runtime.tokenUsage set append text-delta final draft.body sections.0.body * valueSchema itemSchema
    dataSchema useInterrupt.request text choice multi-choice id path
  `,
  'Kortyx: Stream Chunk Protocol': `
    @kortyx/stream StreamChunk session status text-start text-delta text-end message structured-data interrupt
    transition done error structured-data.streamId structured-data.dataType structured-data.kind
    structured-data.schemaId structured-data.schemaVersion structured-data.id structured-data.node set append
    text-delta final path items delta data applyStructuredChunk reduceStructuredChunks applyStructuredChunk.data
    applyStructuredChunk.status applyStructuredChunk.streamId applyStructuredChunk.dataType kortyx/browser
    useStructuredStreams useStructuredStreams.items useStructuredStreams.byStreamId useStructuredStreams.get
    useStructuredStreams.clear useChat @kortyx/react outputSchema * streaming done
  `,
  'MUI X Chat: Core streaming': `
    start: messageId
    finish: messageId finishReason
    abort: messageId
    text-start: id
    text-delta: id delta
    text-end: id
    reasoning-start: id
    reasoning-delta: id delta
    reasoning-end: id
    tool-input-start: toolCallId toolName dynamic
    tool-input-delta: toolCallId inputTextDelta
    tool-input-available: toolCallId toolName input
    tool-input-error: toolCallId errorText
    tool-approval-request: toolCallId toolName input approvalId
    tool-output-available: toolCallId output preliminary
    tool-output-error: toolCallId errorText
    tool-output-denied: toolCallId reason
    source-url: sourceId url title
    source-document: sourceId title text
    file: mediaType url filename id
    data-*: type data id transient
    message-metadata: metadata
    start-step finish-step ChatMessageChunk ChatStreamEnvelope ChatTextMessagePart ChatReasoningMessagePart
    ChatToolMessagePart ChatDynamicToolMessagePart ChatSourceUrlMessagePart ChatSourceDocumentMessagePart
    ChatFileMessagePart ChatDataMessagePart ChatStepStartMessagePart ChatMessagePart sendMessage
    ChatStreamEnvelope.eventId ChatStreamEnvelope.sequence ChatStreamEnvelope.chunk toolInvocation.state
    input-streaming input-available approval-requested output-available output-error output-denied onData
    streamFlushInterval ChatProvider ChatProvider.adapter ChatProvider.streamFlushInterval message.status sending
    streaming sent cancelled error done onError onFinish isDisconnect reconnectToStream createStream fromSSE
  `,
  'TanStack AI: Stream Protocol': `
    BaseStreamChunk: type id model timestamp
    content: delta content role
    tool_call: toolCall toolCall.id toolCall.type toolCall.function toolCall.function.name toolCall.function.arguments index
    tool_result: toolCallId content
    done: finishReason usage usage.promptTokens usage.completionTokens usage.totalTokens
    error: error error.message error.code
    approval-requested: toolCallId toolName input approval approval.id approval.needsApproval
    tool-input-available: toolCallId toolName input
    thinking: delta content
    ContentStreamChunk ToolCallStreamChunk ToolResultStreamChunk DoneStreamChunk ErrorStreamChunk
    ApprovalRequestedStreamChunk ToolInputAvailableStreamChunk ThinkingStreamChunk StreamChunkType StreamChunk
    @tanstack/ai @tanstack/ai-client stop length content_filter tool_calls awaiting-input input-streaming
    input-complete [DONE]
  `,
}
