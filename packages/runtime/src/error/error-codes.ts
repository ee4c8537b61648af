// Error codes. The part before the first underscore is the category.

/** The codes of all errors that a run, a tool or a caller can get. */
export const errorCodes = {
  /** The provider is overloaded. Retryable. */
  providerOverloaded: 'provider_overloaded',
  /** The provider limits the rate of calls, or the quota of the account is used up. */
  providerRateLimited: 'provider_rate_limited',
  /** The provider could not be reached, or the connection broke before the answer. Retryable. */
  providerUnreachable: 'provider_unreachable',
  /** The provider's stream ended without a finish part. Retryable. */
  providerStreamCut: 'provider_stream_cut',
  /** The provider did not answer in time. Retryable. */
  providerTimeout: 'provider_timeout',
  /** The provider rejected the API key, or there is none. */
  providerUnauthorized: 'provider_unauthorized',
  /** The provider does not have the model. */
  providerModelNotFound: 'provider_model_not_found',
  /** The conversation does not fit the model's context window. */
  providerContextExceeded: 'provider_context_exceeded',
  /** The provider rejected the request as invalid. */
  providerInvalidRequest: 'provider_invalid_request',
  /** Any other failure of the provider. */
  providerError: 'provider_error',
  /** The tool threw an error. */
  toolExecutionFailed: 'tool_execution_failed',
  /** The tool exceeded its timeout. */
  toolTimeout: 'tool_timeout',
  /** The tool's output does not match its schema, or is not JSON. */
  toolOutputInvalid: 'tool_output_invalid',
  /** The tool's output exceeds the size limit of the log. */
  toolOutputTooLarge: 'tool_output_too_large',
  /** The tool's state update does not match the schema, or exceeds the size limit of the log. */
  toolStateRefused: 'tool_state_refused',
  /** The input of a call is too large to show for approval. */
  toolInputTooLarge: 'tool_input_too_large',
  /** The run would have more open pendings than the limit allows. */
  toolTooManyPendings: 'tool_too_many_pendings',
  /** The run ended while the call was open. */
  toolInterrupted: 'interrupted',
  /** No client sent the result of a call before its deadline. */
  clientToolTimeout: 'client_tool_timeout',
  /** A client reported that its tool failed. */
  clientToolFailed: 'client_tool_failed',
  /** A client, or its user, aborted the call. */
  clientToolAborted: 'aborted',
  /** A sub-agent failed. The reason is in its `subagent-end`. */
  subAgentFailed: 'subagent_failed',
  /** An MCP server could not be started or reached, or did not answer. Retryable. */
  mcpUnreachable: 'mcp_unreachable',
  /** The connection to an MCP server was lost during a call, which the server may have executed. Retryable. */
  mcpConnectionLost: 'mcp_connection_lost',
  /** An MCP server rejected the credentials. */
  mcpUnauthorized: 'mcp_unauthorized',
  /** An MCP server refused a call, or its reply violates the protocol. */
  mcpProtocolError: 'mcp_protocol_error',
  /** The application closed the connection to an MCP server. */
  mcpClosed: 'mcp_closed',
  /** The model's answer does not match the agent's output schema. */
  outputInvalid: 'output_invalid',
  /** The run reached its limit of steps. */
  budgetSteps: 'budget_steps',
  /** The run reached its limit of tokens. */
  budgetTokens: 'budget_tokens',
  /** The run reached its limit of bytes. */
  budgetBytes: 'budget_bytes',
  /** One answer of a model reached its limit of bytes or tokens. */
  budgetAnswer: 'budget_answer',
  /** The run reached its time limit. */
  budgetTime: 'budget_time',
  /** The run was taken over too many times without progress. */
  runCrashed: 'run_crashed',
  /** Another run is open or requested in the session. */
  runBusy: 'run_busy',
  /** The queue of requests of the session is full. */
  runQueueFull: 'run_queue_full',
  /** A run with this id has ended. Use a new id for a new run. */
  runEnded: 'run_ended',
  /** There is no run with this id. */
  runUnknown: 'run_unknown',
  /** The request for the run was withdrawn before it started. */
  runTakenBack: 'run_taken_back',
  /** Another run started after the session was read. Read it again. */
  runOvertaken: 'run_overtaken',
  /** The run was not interrupted, or is not the latest one. */
  runNotResumable: 'run_not_resumable',
  /** The session cannot be rewound to this position. */
  runCutRefused: 'run_cut_refused',
  /** The pending already has an answer, or its run has ended. */
  answerAlreadySettled: 'answer_already_settled',
  /** The answer came after the deadline. */
  answerLate: 'answer_late',
  /** The session has no such pending. */
  answerUnknown: 'answer_unknown',
  /** The pending expects another kind of answer. */
  answerWrongKind: 'answer_wrong_kind',
  /** The call still waits for approval. */
  answerUnapproved: 'answer_unapproved',
  /** Another client has claimed the call. */
  answerClaimed: 'answer_claimed',
  /** The answer is not one of the options, does not match the schema, or is for another input. */
  answerInvalid: 'answer_invalid',
  /** The session belongs to another principal. */
  answerForbidden: 'answer_forbidden',
  /** The caller has used up its time for checks of answers, or too many checks wait. Retryable. */
  checksLimit: 'checks_limit',
  /** There is no session with this id. */
  sessionUnknown: 'session_unknown',
  /** A session with this id exists. */
  sessionExists: 'session_exists',
  /** The log no longer holds this position. Take a snapshot and continue from it. */
  sessionTrimmed: 'session_trimmed',
  /** A message names a file that is not stored in the session. */
  uploadUnknown: 'upload_unknown',
  /** The store cannot be reached. Retryable. */
  storeUnavailable: 'store_unavailable',
  /** The runtime is closed. */
  runtimeClosed: 'runtime_closed',
  /** This runtime does not have the program. */
  programUnknown: 'program_unknown',
  /** An argument, an option or a definition is not valid. */
  validationFailed: 'validation_failed',
  /** A node of a workflow failed. */
  workflowNodeFailed: 'workflow_node_failed',
  /** There is no edge for the condition that a node returned, or no workflow to continue with. */
  workflowNoWay: 'workflow_no_way',
  /** An edge was taken more times than its limit allows. */
  workflowLoop: 'workflow_loop',
  /** The input of a workflow does not match its schema. */
  workflowInputInvalid: 'workflow_input_invalid',
  /** The workflow's code differs from the code that wrote the log, so that hooks cannot be replayed. */
  workflowChanged: 'workflow_changed',
  /** The state of a workflow exceeds the size limit. */
  workflowStateTooLarge: 'workflow_state_too_large',
  /** The code of a step, or other code that a hook calls, threw an error, which is the `cause`. The node fails unless it catches the error. */
  hookFailed: 'hook_failed',
  /** The node aborted a hook that it had called. */
  hookAborted: 'hook_aborted',
  /** The result of a hook exceeds the size limit of the log. */
  hookResultTooLarge: 'hook_result_too_large',
  /** An interrupt got no answer before its deadline. */
  interruptTimeout: 'interrupt_timeout',
  /** A node opened more interrupts than a run may have open. */
  interruptTooMany: 'interrupt_too_many',
  /** The code of the program threw an error. */
  agentFailed: 'agent_failed',
  /** Any other failure. The logger has its cause. */
  internalError: 'internal_error',
} as const

/** The code of an error: a value of `errorCodes`. */
export type ErrorCode = (typeof errorCodes)[keyof typeof errorCodes]

/** The codes of failed calls of client tools. */
export const CLIENT_TOOL_ERROR_CODES = [
  errorCodes.clientToolTimeout,
  errorCodes.clientToolFailed,
  errorCodes.clientToolAborted,
  errorCodes.toolInterrupted,
] as const

/** The codes of an answer that was cut off at a limit. What was said is kept. */
const INCOMPLETE_ANSWER_CODES: ReadonlySet<string> = new Set([
  errorCodes.budgetAnswer,
  errorCodes.budgetBytes,
  errorCodes.budgetTokens,
])

/** Whether a failure may have cut an answer off at a limit. */
export const isIncompleteAnswer = ({ code }: { readonly code: string }): boolean => INCOMPLETE_ANSWER_CODES.has(code)

/** The category of a code: its part before the first underscore. */
export const categoryOf = (code: string): string => code.split('_', 1)[0] as string
