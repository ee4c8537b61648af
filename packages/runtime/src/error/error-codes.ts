// What can go wrong, by name. The part before the first underscore is the category.

/** The codes of all errors that a run, a tool or a caller can meet. */
export const errorCodes = {
  /** The provider has too much to do; later it may do better. */
  providerOverloaded: 'provider_overloaded',
  /** The provider wants fewer calls. */
  providerRateLimited: 'provider_rate_limited',
  /** The provider could not be reached, or went away before it had answered. */
  providerUnreachable: 'provider_unreachable',
  /** The provider's stream ended before its end was said. */
  providerStreamCut: 'provider_stream_cut',
  /** The provider took too long. */
  providerTimeout: 'provider_timeout',
  /** The provider did not accept the key. */
  providerUnauthorized: 'provider_unauthorized',
  /** The provider has no such model. */
  providerModelNotFound: 'provider_model_not_found',
  /** The conversation is longer than the model can read. */
  providerContextExceeded: 'provider_context_exceeded',
  /** The provider refused the call as it was made. */
  providerInvalidRequest: 'provider_invalid_request',
  /** Something else went wrong at the provider. */
  providerError: 'provider_error',
  /** A tool threw. */
  toolExecutionFailed: 'tool_execution_failed',
  /** A tool took too long. */
  toolTimeout: 'tool_timeout',
  /** What a tool returned does not fit its schema, or is no JSON. */
  toolOutputInvalid: 'tool_output_invalid',
  /** What a tool returned is larger than the log takes. */
  toolOutputTooLarge: 'tool_output_too_large',
  /** What a tool made of the state does not fit its schema, or is larger than the log takes. */
  toolStateRefused: 'tool_state_refused',
  /** The input of a call is larger than can be shown. */
  toolInputTooLarge: 'tool_input_too_large',
  /** More calls would wait for somebody than a run may wait for. */
  toolTooManyPendings: 'tool_too_many_pendings',
  /** The call was cut off by the end of its run. */
  toolInterrupted: 'interrupted',
  /** No client gave the result of a call in time. */
  clientToolTimeout: 'client_tool_timeout',
  /** A client failed to run a call. */
  clientToolFailed: 'client_tool_failed',
  /** A client, or its user, gave a call up. */
  clientToolAborted: 'aborted',
  /** A sub-agent failed; the reason of its end says why. */
  subAgentFailed: 'subagent_failed',
  /** An MCP server could not be started or reached, or does not answer. */
  mcpUnreachable: 'mcp_unreachable',
  /** An MCP server went away in the middle of a call, which may have been done or not. */
  mcpConnectionLost: 'mcp_connection_lost',
  /** An MCP server wants other credentials. */
  mcpUnauthorized: 'mcp_unauthorized',
  /** An MCP server refused a call, or answered as the protocol does not allow. */
  mcpProtocolError: 'mcp_protocol_error',
  /** The connection to an MCP server was closed by who opened it. */
  mcpClosed: 'mcp_closed',
  /** The model's answer does not fit the agent's output. */
  outputInvalid: 'output_invalid',
  budgetSteps: 'budget_steps',
  budgetTokens: 'budget_tokens',
  budgetTime: 'budget_time',
  /** The run was taken over again and again without getting any further. */
  runCrashed: 'run_crashed',
  /** Another run is open or asked for in the session. */
  runBusy: 'run_busy',
  /** Too many requests wait in the session. */
  runQueueFull: 'run_queue_full',
  /** A run of that id was there before: another that is asked for needs another id. */
  runEnded: 'run_ended',
  /** There is no such run. */
  runUnknown: 'run_unknown',
  /** The request for the run was taken back before it started. */
  runTakenBack: 'run_taken_back',
  /** Another run came between the look at the session and what was asked for on it: look again. */
  runOvertaken: 'run_overtaken',
  /** The run is not one that was interrupted, or another came after it. */
  runNotResumable: 'run_not_resumable',
  /** The session cannot be taken back to there. */
  runCutRefused: 'run_cut_refused',
  /** Somebody was first with an answer, or the run has ended. */
  answerAlreadySettled: 'answer_already_settled',
  /** The time for an answer is over. */
  answerLate: 'answer_late',
  /** Nobody waits for that in the session. */
  answerUnknown: 'answer_unknown',
  /** What waits there wants another kind of answer. */
  answerWrongKind: 'answer_wrong_kind',
  /** The call still waits for its approval. */
  answerUnapproved: 'answer_unapproved',
  /** Another client has taken the call upon itself. */
  answerClaimed: 'answer_claimed',
  /** The answer is none that was offered, does not fit, or is to another input than the one that would run. */
  answerInvalid: 'answer_invalid',
  /** The session is somebody else's. */
  answerForbidden: 'answer_forbidden',
  /** There is no such session. */
  sessionUnknown: 'session_unknown',
  /** There is a session of that id already. */
  sessionExists: 'session_exists',
  /** The session does not hold that place any more: take a snapshot, and read on from there. */
  sessionTrimmed: 'session_trimmed',
  /** A message names a file that the session does not keep. */
  uploadUnknown: 'upload_unknown',
  /** The store is out of reach; later it may not be. */
  storeUnavailable: 'store_unavailable',
  /** The runtime was closed. */
  runtimeClosed: 'runtime_closed',
  /** Nobody here knows the program. */
  programUnknown: 'program_unknown',
  /** What was asked for or defined is not valid. */
  validationFailed: 'validation_failed',
  /** A node of a workflow failed. */
  workflowNodeFailed: 'workflow_node_failed',
  /** What a node returned leads nowhere: there is no edge for its condition, or no such workflow to go on with. */
  workflowNoWay: 'workflow_no_way',
  /** An edge was taken as often as it may be. */
  workflowLoop: 'workflow_loop',
  /** What a workflow was given does not fit its input. */
  workflowInputInvalid: 'workflow_input_invalid',
  /** The code of a workflow is not what it was when the run came to where it stands. */
  workflowChanged: 'workflow_changed',
  /** The state of a workflow is larger than may be kept. */
  workflowStateTooLarge: 'workflow_state_too_large',
  /** A hook failed, and the node went on without it. */
  hookFailed: 'hook_failed',
  /** The code of a node cut a hook off that it had called. */
  hookAborted: 'hook_aborted',
  /** What a hook gives is larger than the log takes. */
  hookResultTooLarge: 'hook_result_too_large',
  /** Nobody answered a question in time. */
  interruptTimeout: 'interrupt_timeout',
  /** A node asks more at a time than a run may wait for. */
  interruptTooMany: 'interrupt_too_many',
  /** The program's own code threw. */
  agentFailed: 'agent_failed',
  /** Something went wrong that no other code names; the log of the process knows more. */
  internalError: 'internal_error',
} as const

export type ErrorCode = (typeof errorCodes)[keyof typeof errorCodes]

/** The codes with which the call of a client's tool fails, for those who look for them. */
export const CLIENT_TOOL_ERROR_CODES = [
  errorCodes.clientToolTimeout,
  errorCodes.clientToolFailed,
  errorCodes.clientToolAborted,
  errorCodes.toolInterrupted,
] as const

/** The category of a code: what stands before its first underscore. */
export const categoryOf = (code: string): string => code.split('_', 1)[0] as string
