export {
  type Agent,
  type AgentContext,
  type AgentDefinition,
  type AgentOutput,
  type AgentShown,
  agent,
  type Computed,
  type EndedStep,
  MAX_RETRIES,
  type OutputOfAgent,
  PARALLEL_CALLS,
  type StateOf,
  type ToolNames,
} from './agent/agent.ts'
export { type Budget, DEFAULT_BUDGET } from './agent/budget.ts'
export { type SubAgent, type SubAgentOptions, subAgent } from './agent/sub-agent.ts'
export {
  CONCURRENCY,
  type Driving,
  type Engine,
  GRACE_MS,
  type InProcessOptions,
  inProcessEngine,
  POLL_MS,
} from './drive/engine.ts'
export {
  type FinishedRun,
  LONGEST_NOTIFY_MS,
  MAX_NOTIFY_TRIES,
  NOTIFY_AFTER_MS,
  OBSERVER_TIMEOUT_MS,
  type Observer,
  type PausedRun,
} from './drive/notices.ts'
export { CLIENT_TOOL_ERROR_CODES, categoryOf, type ErrorCode, errorCodes } from './error/code.ts'
export * from './error/error.ts'
export type { ReasonInput, ReasonMessage, ReasonPart } from './hooks/input.ts'
export type { ReasonInterrupt } from './hooks/interrupt-pass.ts'
export type { ReasonStep } from './hooks/reason.ts'
export type {
  ReasonOptions,
  ReasonResult,
  StructuredOptions,
  ToolCallResult,
  ToolExecution,
} from './hooks/reason-options.ts'
export { REASON_STEPS } from './hooks/reason-plan.ts'
export {
  type InterruptOption,
  type InterruptOptions,
  type InterruptRequest,
  type InterruptResponse,
  useInterrupt,
} from './hooks/use-interrupt.ts'
export { useReason } from './hooks/use-reason.ts'
export { useRuntimeContext } from './hooks/use-runtime-context.ts'
export { type SetState, useNodeState, useWorkflowState } from './hooks/use-state.ts'
export { type StepContext, useStep } from './hooks/use-step.ts'
export { type StructuredAbout, type StructuredUpdate, useStructuredData } from './hooks/use-structured-data.ts'
export type { Model, ModelSettings } from './model/model.ts'
export { type Backoff, DEFAULT_BACKOFF } from './model/retry.ts'
export {
  type Script,
  type ScriptedAnswer,
  type ScriptedCall,
  type ScriptedOptions,
  type ScriptedPrompt,
  scriptedModel,
} from './model/scripted.ts'
export {
  BLOCKED_AFTER_MS,
  checkOptions as checkRuntimeOptions,
  MAX_TAKEOVERS,
  type RuntimeOptions,
} from './options.ts'
export type { Answer, AnswerOptions } from './run/answer.ts'
export type { Answered, ClaimOptions } from './run/answering.ts'
export type { DescribeOptions } from './run/description.ts'
export type { AskOptions, SaidPart, UserInput } from './run/request.ts'
export type { RunResult } from './run/result.ts'
export type { ResumeOptions } from './run/resumption.ts'
export { Run, type StopOptions } from './run/run.ts'
export type { SessionStatus } from './run/status.ts'
export { type PieceOptions, type RunPiece, RunStream, type StreamOptions } from './run/stream.ts'
export type { Suspended, WaitingChild } from './run/suspension.ts'
export { createRuntime, type ForkOptions, Runtime, type StartOptions, type StartWorkflowOptions } from './runtime.ts'
export type { Jsonified } from './schema/json.ts'
export type { InputOf, JsonSchema, OutputOf, Schema } from './schema/schema.ts'
export { consoleLogger, guarded, type Logger } from './telemetry/logger.ts'
export type { SpanAbout, TelemetryOptions } from './telemetry/options.ts'
export type { Approval, ApprovalContext, ApprovalRule, Verdict } from './tool/approval.ts'
export {
  type AnyTool,
  type Callable,
  type CheckedToolDefinition,
  type ClientTool,
  type ClientToolDefinition,
  type Emits,
  type Executed,
  type Execution,
  type ProviderTool,
  providerTool,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolInput,
  type ToolOutput,
  tool,
} from './tool/tool.ts'
export { type KeptUpload, type NewUpload, uploadIn, uploadUnknown, uploadUrlOf } from './upload/upload.ts'
export { createWorker, type Worker } from './worker.ts'
export type { EdgeDefinition, EdgeOptions, ForkEdgeOptions } from './workflow/edge.ts'
export type {
  AgentNodeDefinition,
  ErrorPolicy,
  FunctionNodeDefinition,
  NodeContext,
  NodeDefinition,
  NodeFailure,
  NodeFunction,
  NodeOptions,
  NodeResult,
  NodeRetry,
  NodeUi,
  StructuredResult,
} from './workflow/node.ts'
export { MAX_STATE, MAX_STATE_VALUE } from './workflow/state.ts'
export {
  type Migration,
  type MigrationPoint,
  type Workflow,
  type WorkflowDefinition,
  type WorkflowInput,
  type WorkflowOutput,
  type WorkflowShown,
  workflow,
} from './workflow/workflow.ts'
