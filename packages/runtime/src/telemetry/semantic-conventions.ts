// The names of spans, attributes and metrics. `gen_ai.*` and `error.*` follow the GenAI semantic conventions of OpenTelemetry
// 1.41, except `gen_ai.execute_tool.duration`, which is in no release yet. `millrace.*` are our own.

export const SCOPE = '@millrace/runtime'
export const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.41.0'

export const attribute = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  conversation: 'gen_ai.conversation.id',
  agentName: 'gen_ai.agent.name',
  agentVersion: 'gen_ai.agent.version',
  workflowName: 'gen_ai.workflow.name',
  outputType: 'gen_ai.output.type',
  requestModel: 'gen_ai.request.model',
  requestStream: 'gen_ai.request.stream',
  maxTokens: 'gen_ai.request.max_tokens',
  temperature: 'gen_ai.request.temperature',
  topP: 'gen_ai.request.top_p',
  topK: 'gen_ai.request.top_k',
  presencePenalty: 'gen_ai.request.presence_penalty',
  frequencyPenalty: 'gen_ai.request.frequency_penalty',
  seed: 'gen_ai.request.seed',
  stopSequences: 'gen_ai.request.stop_sequences',
  responseId: 'gen_ai.response.id',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  tokenType: 'gen_ai.token.type',
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolDescription: 'gen_ai.tool.description',
  toolCallId: 'gen_ai.tool.call.id',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  systemInstructions: 'gen_ai.system_instructions',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  errorType: 'error.type',
  sessionId: 'millrace.session.id',
  runId: 'millrace.run.id',
  program: 'millrace.program',
  agentId: 'millrace.agent.id',
  step: 'millrace.step',
  node: 'millrace.node',
  hook: 'millrace.hook',
  hookId: 'millrace.hook.id',
  attempt: 'millrace.attempt',
  status: 'millrace.status',
  isTakeover: 'millrace.takeover',
  isTruncated: 'millrace.content.shortened',
} as const

/** The operations that have spans, by the names of the conventions if they have one. */
export type Operation = 'invoke_agent' | 'invoke_workflow' | 'node' | 'hook' | 'step' | 'chat' | 'execute_tool'

/** The `error.type` of an unknown error. */
export const OTHER_ERROR = '_OTHER'

/** Buckets for durations that the conventions recommend, in seconds. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
/** Buckets for tokens that the conventions recommend: powers of 4. */
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power)
/** Buckets for runs, in seconds: up to days, because runs wait for approvals. */
const RUN_SECONDS = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, 21_600, 86_400, 604_800]

export const histogram = {
  tokens: ['gen_ai.client.token.usage', '{token}', TOKENS, 'Number of input and output tokens used.'],
  operation: ['gen_ai.client.operation.duration', 's', SECONDS, 'GenAI operation duration.'],
  firstChunk: ['gen_ai.client.operation.time_to_first_chunk', 's', SECONDS, 'Time to receive the first chunk.'],
  nextChunk: ['gen_ai.client.operation.time_per_output_chunk', 's', SECONDS, 'Time per output chunk after the first.'],
  tool: ['gen_ai.execute_tool.duration', 's', SECONDS, 'The duration of a single tool execution.'],
  run: ['millrace.run.duration', 's', RUN_SECONDS, 'The time from the start of a run to its end, pauses included.'],
} as const satisfies Record<string, readonly [name: string, unit: string, buckets: number[], description: string]>

export const counter = {
  runs: ['millrace.runs', '{run}', 'Runs that have ended, by their status.'],
  pauses: ['millrace.pauses', '{pause}', 'Times that a run paused to wait for an answer.'],
  takeovers: ['millrace.takeovers', '{takeover}', 'Runs that a process took over from another one.'],
} as const satisfies Record<string, readonly [name: string, unit: string, description: string]>

/** Provider names of the conventions by those of the AI SDK. */
const PROVIDERS: readonly (readonly [RegExp, string])[] = [
  [/^(google\.)?vertex\b/, 'gcp.vertex_ai'],
  [/^google\b/, 'gcp.gemini'],
  [/^azure\b/, 'azure.ai.openai'],
  [/^(amazon-)?bedrock\b/, 'aws.bedrock'],
  [/^mistral\b/, 'mistral_ai'],
  [/^xai\b/, 'x_ai'],
  [/^(anthropic|cohere|deepseek|groq|openai|perplexity)\b(?!-)/, '$1'],
]

/** The name of a provider in the conventions; its own name if they have none. */
export function providerName(provider: string): string {
  for (const [pattern, name] of PROVIDERS) {
    const found = pattern.exec(provider)
    if (found) return name === '$1' ? (found[1] as string) : name
  }
  return provider
}

/** A finish reason in the spelling of the conventions. */
export const finishReasonName = (reason: string): string =>
  reason === 'tool-calls' ? 'tool_call' : reason === 'content-filter' ? 'content_filter' : reason
