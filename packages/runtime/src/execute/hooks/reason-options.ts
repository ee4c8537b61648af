// What a model is asked in a node, and what comes of it.

import type { LanguageModelV4CallOptions, SharedV4Warning } from '@ai-sdk/provider'
import type { Fields, FinishReason, Json, JsonObject, Usage } from '@millrace/protocol'
import type { Program } from '../../define/program.ts'
import type { SubAgent } from '../../define/sub-agent.ts'
import type { AnyTool } from '../../define/tool.ts'
import type { Model, ModelSettings } from '../../model/model.ts'
import type { Reasoning } from '../../model/reasoning.ts'
import type { Jsonified } from '../../schema/json.ts'
import type { JsonSchema, OutputOf, Schema } from '../../schema/schema.ts'
import type { FieldsOf } from './field-paths.ts'
import type { ReasonInput } from './input.ts'
import type { ReasonInterrupt } from './interrupt-pass.ts'
import type { ReasonStep } from './reason.ts'

export interface StructuredOptions<F = Fields> {
  /** Whether declared fields are shown while they stream; they are, if nothing is said. */
  readonly stream?: boolean
  readonly dataType?: string
  readonly schemaId?: string
  readonly schemaVersion?: string
  /** The fields that are shown before the whole is there, by dotted path, and how each arrives. */
  readonly fields?: F
}

export interface ToolExecution {
  /** How many model calls there may be. */
  readonly maxSteps?: number
  /** Which calls a person has to approve, over what the tools say themselves. */
  readonly approval?: boolean | { readonly [toolName: string]: boolean }
  /** How many calls of a step run at a time. */
  readonly parallelCalls?: number
}

export interface ReasonOptions<
  O extends Schema | undefined = undefined,
  R extends Schema | undefined = undefined,
  Tools extends readonly AnyTool[] = readonly AnyTool[],
> extends Pick<ModelSettings, 'temperature' | 'maxOutputTokens' | 'stopSequences' | 'providerOptions'> {
  readonly model: Model
  readonly input: ReasonInput
  readonly system?: string
  /** Cuts the model and its tools off while they are at work, not while they wait for somebody: what they were saying is taken back, and the hook throws `hook_aborted`. */
  readonly abortSignal?: AbortSignal
  readonly reasoning?: Reasoning
  readonly responseFormat?: LanguageModelV4CallOptions['responseFormat']
  /** Whether readers see what the model says; they do, if nothing is said. */
  readonly emit?: boolean
  /** Whether the model is asked to stream; it is, if nothing is said. */
  readonly stream?: boolean
  readonly id?: string
  /** What the answer must be; then it is an object, and no text is shown. */
  readonly outputSchema?: O
  /** The JSON Schema of the output, where `outputSchema` cannot say it by itself. */
  readonly jsonSchema?: JsonSchema
  readonly structured?: StructuredOptions<O extends Schema ? FieldsOf<OutputOf<O>> : Fields>
  readonly interrupt?: ReasonInterrupt<R>
  readonly tools?: Tools
  /** Agents and workflows that the model may call like tools, each as it is or as `subAgent()` describes it. */
  readonly subAgents?: readonly (Program | SubAgent)[]
  readonly toolExecution?: ToolExecution
  /** How often a call that failed, or gave what does not fit, is tried again. */
  readonly maxRetries?: number
}

export interface ToolCallResult {
  readonly toolCallId: string
  readonly toolName: string
  readonly input?: Json
  readonly output?: Json
  readonly error?: string
  readonly isDenied?: true
}

export interface ReasonResult<Output = unknown, Response = unknown> {
  /** What the model said last. */
  readonly text: string
  readonly output: Output
  /** What the provider calls what it said, for who looks for the cause of something. */
  readonly raw: JsonObject
  /** Of all passes together, with what was asked for again. */
  readonly usage: Usage
  readonly finishReason: FinishReason
  readonly providerMetadata: JsonObject
  readonly warnings: readonly SharedV4Warning[]
  /** What the person answered, in interrupt mode. */
  readonly interruptResponse: Response
  readonly toolCalls: readonly Pick<ToolCallResult, 'toolCallId' | 'toolName' | 'input'>[]
  readonly toolResults: readonly ToolCallResult[]
  readonly steps: readonly ReasonStep[]
}

/** What the log gives back of what a schema describes. */
export type SchemaOutput<S extends Schema | undefined> = S extends Schema ? Jsonified<OutputOf<S>> : undefined
