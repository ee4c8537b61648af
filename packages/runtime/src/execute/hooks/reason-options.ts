// Options and result of `useReason`.

import type { LanguageModelV4CallOptions, SharedV4Warning } from '@ai-sdk/provider'
import type { Fields, FinishReason, Json, JsonObject, Usage } from '@millrace/protocol'
import type { Program } from '../../define/program.ts'
import type { SubAgent } from '../../define/sub-agent.ts'
import type { AnyTool } from '../../define/tool.ts'
import type { Model, ModelSettings } from '../../model/model.ts'
import type { ModelLimits } from '../../model/model-limits.ts'
import type { Reasoning } from '../../model/reasoning.ts'
import type { Jsonified } from '../../schema/json.ts'
import type { JsonSchema, OutputOf, Schema } from '../../schema/schema.ts'
import type { FieldsOf } from './field-paths.ts'
import type { ReasonInterrupt } from './interrupt-pass.ts'
import type { ReasonStep } from './reason.ts'
import type { ReasonInput } from './reason-input.ts'

/** The option `structured` of `useReason`. */
export interface StructuredOptions<F = Fields> {
  /** Whether declared fields are shown while they stream. @default true */
  readonly stream?: boolean
  /** The application's name for this kind of object. @default 'generic' */
  readonly dataType?: string
  /** Id of the schema of the object, passed to clients. @default none */
  readonly schemaId?: string
  /** Version of the schema of the object, passed to clients. @default none */
  readonly schemaVersion?: string
  /** The fields to stream before the object is complete, by dotted path, with the kind of update. @default {} */
  readonly fields?: F
}

/** The option `toolExecution` of `useReason`. */
export interface ToolExecution {
  /** Maximum number of model calls. @default 8 */
  readonly maxSteps?: number
  /** Calls that need approval. Overrides the option of the tools. @default the option of each tool */
  readonly approval?: boolean | { readonly [toolName: string]: boolean }
  /** Maximum number of calls of a step that run at the same time. @default 8 */
  readonly parallelCalls?: number
}

/** Options of `useReason`. */
export interface ReasonOptions<
  O extends Schema | undefined = undefined,
  R extends Schema | undefined = undefined,
  Tools extends readonly AnyTool[] = readonly AnyTool[],
> extends Pick<ModelSettings, 'temperature' | 'maxOutputTokens' | 'stopSequences' | 'providerOptions'> {
  /** The model to call. */
  readonly model: Model
  /** The prompt: text, messages or parts. The model gets nothing else of the conversation. */
  readonly input: ReasonInput
  /** System prompt. @default none */
  readonly system?: string
  /**
   * Aborts the model and its tools while they run, but not while they wait for an answer. Discards the current draft,
   * and the hook throws `hook_aborted`.
   * @default none
   */
  readonly abortSignal?: AbortSignal
  /** Reasoning effort and budget, translated for each provider. @default the provider's settings */
  readonly reasoning?: Reasoning
  /** Format of the answer, as in the AI SDK. `outputSchema` sets it. @default text */
  readonly responseFormat?: LanguageModelV4CallOptions['responseFormat']
  /** Whether readers see the answer. @default true */
  readonly emit?: boolean
  /** Whether to call the model in streaming mode. @default true */
  readonly stream?: boolean
  /**
   * Identifies the hook in its node, in at most 64 characters. Required for parallel hooks.
   * @default the position in the node
   */
  readonly id?: string
  /** Schema of the answer. With it the answer is an object, and no text is shown. @default none */
  readonly outputSchema?: O
  /** JSON Schema of the output, for schemas that cannot be converted. @default converted from `outputSchema` */
  readonly jsonSchema?: JsonSchema
  /** Shows the answer to readers as a structured object. Needs `outputSchema`. @default none */
  readonly structured?: StructuredOptions<O extends Schema ? FieldsOf<OutputOf<O>> : Fields>
  /** Lets the model ask a person. @default none */
  readonly interrupt?: ReasonInterrupt<R>
  /** Tools that the model may call. @default [] */
  readonly tools?: Tools
  /** Agents and workflows that the model may call like tools, either directly or wrapped by `subAgent()`. @default [] */
  readonly subAgents?: readonly (Program | SubAgent)[]
  /** Limits and approvals of the tool calls. @default {} */
  readonly toolExecution?: ToolExecution
  /** Maximum number of retries of a failed or invalid answer. @default 3 */
  readonly maxRetries?: number
  /**
   * Limits of one model answer: how long the provider may be silent, and how much it may send.
   * @default the limits of the runtime
   */
  readonly modelLimits?: Partial<ModelLimits>
}

/** A tool call of `useReason` and its outcome: `output`, or `error`. */
export interface ToolCallResult {
  /** Id of the call. */
  readonly toolCallId: string
  /** Name of the called tool. */
  readonly toolName: string
  /** Input of the call, as the model sent it. */
  readonly input?: Json
  /** Output of a successful call. */
  readonly output?: Json
  /** The public error of a failed call. */
  readonly error?: string
  /** Whether a person denied the call. */
  readonly isDenied?: true
}

/** Result of `useReason`. */
export interface ReasonResult<Output = unknown, Response = unknown> {
  /** The text of the last answer. */
  readonly text: string
  /** The object, with `outputSchema`. */
  readonly output: Output
  /** Ids of the provider for its responses, for debugging. */
  readonly raw: JsonObject
  /** Usage of all passes, including discarded attempts. */
  readonly usage: Usage
  /** Why the last model call ended. */
  readonly finishReason: FinishReason
  /** Metadata of the provider, merged over all calls. */
  readonly providerMetadata: JsonObject
  /** Options that the model does not support. */
  readonly warnings: readonly SharedV4Warning[]
  /** The person's response, with `interrupt`. */
  readonly interruptResponse: Response
  /** All tool calls. */
  readonly toolCalls: readonly Pick<ToolCallResult, 'toolCallId' | 'toolName' | 'input'>[]
  /** All tool calls with their outcomes. */
  readonly toolResults: readonly ToolCallResult[]
  /** Each model call separately. */
  readonly steps: readonly ReasonStep[]
}

/** The output type of a schema, after JSON. */
export type SchemaOutput<S extends Schema | undefined> = S extends Schema ? Jsonified<OutputOf<S>> : undefined
