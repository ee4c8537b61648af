export type { Backoff } from '@millrace/protocol/retry'
export type { Answer, AnswerOptions } from './api/answer.ts'
export type { DescribeOptions } from './api/describe-session.ts'
export type { RequestOptions, UserInput, UserPart } from './api/request.ts'
export type { RunResult } from './api/result.ts'
export type { ResumeOptions } from './api/resumption.ts'
export type { Run, StopOptions } from './api/run.ts'
export {
  createRuntime,
  createWorker,
  type ForkOptions,
  type Runtime,
  type StartOptions,
  type StartWorkflowOptions,
  type Worker,
} from './api/runtime.ts'
export type { RuntimeOptions } from './api/runtime-options.ts'
export type { SessionStatus } from './api/session-status.ts'
export type { RunStream, StreamOptions } from './api/stream.ts'
export type { Answered, ClaimOptions } from './api/submit-answer.ts'
export type { PauseReason, WaitingChild } from './api/suspension.ts'
export {
  type Agent,
  type AgentClientTypes,
  type AgentContext,
  type AgentDefinition,
  type AgentOutput,
  agent,
  type Computed,
  type FinishedStep,
  type OutputOfAgent,
  type StateOf,
  type ToolNames,
} from './define/agent.ts'
export type { Approval, ApprovalContext, ApprovalDecision, ApprovalRule } from './define/approval.ts'
export type { Budget } from './define/budget.ts'
export type { EdgeDefinition, EdgeOptions, ForkEdgeOptions } from './define/edge.ts'
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
} from './define/node.ts'
export { type SubAgent, type SubAgentOptions, subAgent } from './define/sub-agent.ts'
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
} from './define/tool.ts'
export {
  type Migration,
  type MigrationPoint,
  type Workflow,
  type WorkflowClientTypes,
  type WorkflowDefinition,
  type WorkflowInput,
  type WorkflowOutput,
  workflow,
} from './define/workflow.ts'
export { type Engine, type EngineDriver, type InProcessOptions, inProcessEngine } from './drive/engine.ts'
export type { FinishedRun, Observer, PausedRun } from './drive/notices.ts'
export type { RetentionRule } from './drive/retention-sweep.ts'
export * from './error/error.ts'
export { CLIENT_TOOL_ERROR_CODES, type ErrorCode, errorCodes } from './error/error-codes.ts'
export type { ReasonInterrupt } from './execute/hooks/interrupt-pass.ts'
export type { ReasonStep } from './execute/hooks/reason.ts'
export type { ReasonInput, ReasonMessage, ReasonPart } from './execute/hooks/reason-input.ts'
export type {
  ReasonOptions,
  ReasonResult,
  StructuredOptions,
  ToolCallResult,
  ToolExecution,
} from './execute/hooks/reason-options.ts'
export {
  type InterruptOption,
  type InterruptOptions,
  type InterruptRequest,
  type InterruptResponse,
  useInterrupt,
} from './execute/hooks/use-interrupt.ts'
export { useReason } from './execute/hooks/use-reason.ts'
export { useRuntimeContext } from './execute/hooks/use-runtime-context.ts'
export { type SetState, useNodeState, useWorkflowState } from './execute/hooks/use-state.ts'
export { type StepContext, useStep } from './execute/hooks/use-step.ts'
export { type StructuredAbout, type StructuredUpdate, useStructuredData } from './execute/hooks/use-structured-data.ts'
export { type BoundedFetchOptions, boundedFetch } from './model/bounded-fetch.ts'
export type { Model, ModelSettings } from './model/model.ts'
export type { ModelLimits } from './model/model-limits.ts'
export {
  type Script,
  type ScriptedAnswer,
  type ScriptedCall,
  type ScriptedOptions,
  type ScriptedPrompt,
  scriptedModel,
} from './model/scripted-model.ts'
export type { Jsonified } from './schema/json.ts'
export type { InputOf, JsonSchema, OutputOf, Schema } from './schema/schema.ts'
export { consoleLogger, type Logger } from './telemetry/logger.ts'
export type { SpanDescription, TelemetryOptions } from './telemetry/telemetry-options.ts'
