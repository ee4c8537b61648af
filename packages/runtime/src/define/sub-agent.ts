// Makes an agent or a workflow callable by another agent, like a tool.

import { checkKeys, checkObject, describeType } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import type { Jsonified } from '../schema/json.ts'
import { type InputOf, type JsonSchema, jsonSchemaOf, type OutputOf, type Schema } from '../schema/schema.ts'
import type { Agent } from './agent.ts'
import { type Approval, checkApproval } from './approval.ts'
import type { Program } from './program.ts'
import { checkToolName } from './tool.ts'
import type { Workflow, WorkflowCallInput, WorkflowInput } from './workflow.ts'

/** Options of `subAgent`. */
export interface SubAgentOptions<I extends Schema, Prompt = string, Name extends string = string> {
  /** Name by which the parent calls it. @default the name of the program */
  readonly name?: Name
  /** Description for the parent's model. @default none */
  readonly description?: string
  /** Title for users. @default none */
  readonly title?: string
  /** Schema of the call's input. @default the input schema of the workflow, or `{ prompt: string }` */
  readonly inputSchema?: I
  /** JSON Schema of the input, for schemas that cannot be converted. @default converted from `inputSchema` */
  readonly jsonSchema?: JsonSchema
  /**
   * Builds the child's message from the input, or the input of a workflow that has an `inputSchema`. Must be
   * deterministic.
   * @default the prompt if it is the only field of the input, else the input as JSON; a workflow with an `inputSchema`
   * gets the input itself
   */
  readonly prompt?: (input: OutputOf<I>) => Prompt
  /** Whether calls need approval. @default false */
  readonly approval?: Approval<OutputOf<I>>
}

const SUB_AGENT_OPTIONS: readonly (keyof SubAgentOptions<Schema, unknown>)[] = [
  'name',
  'description',
  'title',
  'inputSchema',
  'jsonSchema',
  'prompt',
  'approval',
]

/** An agent or a workflow that another agent may call. */
export interface SubAgent<Name extends string = string, Input = unknown, Called extends Program = Program> {
  /** The side that executes a call. */
  readonly executor: 'agent'
  /** Name of the tool that the calling model sees. */
  readonly name: Name
  /** Description of the tool for the calling model. */
  readonly description?: string
  /** Title of the tool for people. */
  readonly title?: string
  /** The program that executes a call. */
  readonly program: Program
  /** Validates the input of a call. */
  readonly inputSchema: Schema
  /** JSON Schema of the input, for the calling model. */
  readonly jsonSchema: JsonSchema
  /** Builds the child's message from the parsed input. Undefined passes the input on as the model sent it. */
  readonly prompt: ((input: unknown) => unknown) | undefined
  /** Whether a call needs approval. @default false */
  readonly approval?: Approval<never>
  /** Never set. Carries the types of a call's input and of the program. */
  readonly types?: { readonly input: Input; readonly called: Called }
}

const PROMPT_JSON_SCHEMA: JsonSchema = {
  type: 'object',
  properties: { prompt: { type: 'string', description: 'The task, with all that is needed to do it' } },
  required: ['prompt'],
  additionalProperties: false,
}

/** Input schema of a sub-agent without one. */
const PROMPT_SCHEMA: Schema = {
  '~standard': {
    version: 1,
    vendor: 'millrace',
    validate: value =>
      typeof (Object(value) as { prompt?: unknown }).prompt === 'string'
        ? { value }
        : { issues: [{ message: 'expected a string', path: ['prompt'] }] },
  },
}

/**
 * Makes an agent or a workflow callable by another agent.
 *
 * @throws {ValidationError} if an option is unknown or invalid.
 */
export function subAgent<
  A extends Agent,
  I extends Schema = Schema<{ prompt: string }>,
  const Name extends string = A['name'],
>(agent: A, options?: SubAgentOptions<I, string, Name>): SubAgent<NoInfer<Name>, Jsonified<InputOf<I>>, A>
export function subAgent<
  W extends Workflow,
  I extends Schema = Schema<
    WorkflowCallInput<W>,
    WorkflowInput<W> extends string ? { prompt: string } : WorkflowInput<W>
  >,
  const Name extends string = W['name'],
>(workflow: W, options?: SubAgentOptions<I, unknown, Name>): SubAgent<NoInfer<Name>, Jsonified<InputOf<I>>, W>
export function subAgent(program: Program, options: SubAgentOptions<Schema, unknown> = {}): SubAgent {
  checkObject('subAgent: options', options)
  const { name = program?.name, description, title, prompt, approval } = options
  if (program?.kind !== 'agent' && program?.kind !== 'workflow') {
    throw new ValidationError(`subAgent: expected the result of agent() or workflow(), found ${describeType(program)}`)
  }
  checkToolName(name)
  checkKeys(`subAgent ${name}`, options, SUB_AGENT_OPTIONS)
  checkApproval(name, approval)
  if (prompt !== undefined && typeof prompt !== 'function') {
    throw new ValidationError(`tool ${name}: prompt: expected a function, found ${typeof prompt}`)
  }
  const typedWorkflow = program.kind === 'workflow' && program.inputSchema ? program : undefined
  const inputSchema = options.inputSchema ?? typedWorkflow?.inputSchema
  return {
    executor: 'agent',
    name,
    program,
    inputSchema: inputSchema ?? PROMPT_SCHEMA,
    jsonSchema: inputSchema
      ? jsonSchemaOf(
          inputSchema,
          `tool ${name}: inputSchema`,
          options.jsonSchema ?? (options.inputSchema ? undefined : typedWorkflow?.jsonSchema),
        )
      : PROMPT_JSON_SCHEMA,
    // A workflow parses its input itself, so it gets the raw input: the schema's output may not fit the schema again.
    prompt: prompt ?? (typedWorkflow === undefined ? textOf : options.inputSchema && (value => value)),
    ...(description !== undefined && { description }),
    ...(title !== undefined && { title }),
    ...(approval !== undefined && { approval: approval as Approval<never> }),
  }
}

/**
 * Normalizes a sub-agent. `path` names it in error messages.
 * @throws {ValidationError} if it is not a program or a sub-agent.
 */
export function subAgentOf(path: string, value: Program | SubAgent): SubAgent {
  const { executor, kind } = Object(value) as { executor?: unknown; kind?: unknown }
  if (executor === 'agent') return value as SubAgent
  if (kind === 'agent' || kind === 'workflow') return subAgent(value as Agent)
  throw new ValidationError(
    `${path}: expected the result of agent(), workflow() or subAgent(), found ${describeType(value)}`,
  )
}

/** The prompt, if it is the only field; otherwise the input as JSON. */
function textOf(input: unknown): string {
  const { prompt, ...rest } = Object(input) as { prompt?: unknown }
  return typeof prompt === 'string' && Object.keys(rest).length === 0 ? prompt : JSON.stringify(input)
}
