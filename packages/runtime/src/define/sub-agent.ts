// An agent or a workflow as a tool of another: what the model is told of it, and what the child is told.

import { checkKeys, checkObject } from '../error/check-object.ts'
import { ValidationError } from '../error/error.ts'
import type { Jsonified } from '../schema/json.ts'
import { type InputOf, type JsonSchema, jsonSchemaOf, type OutputOf, type Schema } from '../schema/schema.ts'
import type { Agent } from './agent.ts'
import { type Approval, checkApproval } from './approval.ts'
import type { Program } from './program.ts'
import { checkToolName } from './tool.ts'
import type { Workflow, WorkflowCallInput, WorkflowInput } from './workflow.ts'

export interface SubAgentOptions<I extends Schema, Told = string, Name extends string = string> {
  /** What the parent calls it; its own name, if nothing is said. */
  readonly name?: Name
  /** What it is for, for the parent's model. */
  readonly description?: string
  /** A name for people. */
  readonly title?: string
  /** What the parent says to it; if nothing is said, what the workflow takes, or a prompt. */
  readonly inputSchema?: I
  /** The JSON Schema of the input, for schemas that cannot produce one. */
  readonly jsonSchema?: JsonSchema
  /** What the child is told, made of the input; the same each time it is asked. To a workflow that defines its input it is that. */
  readonly prompt?: (input: OutputOf<I>) => Told
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
  readonly executor: 'agent'
  readonly name: Name
  readonly description?: string
  readonly title?: string
  /** What works for a call. */
  readonly program: Program
  readonly inputSchema: Schema
  readonly jsonSchema: JsonSchema
  /** What the child is told, by the input as the schema has it; as it was called, where nothing is made of it. */
  readonly prompt: ((input: unknown) => unknown) | undefined
  readonly approval?: Approval<never>
  /** Never there: what a call carries, and what works for it, for the compiler. */
  readonly types?: { readonly input: Input; readonly called: Called }
}

const PROMPT: JsonSchema = {
  type: 'object',
  properties: { prompt: { type: 'string', description: 'The task, with all that is needed to do it' } },
  required: ['prompt'],
  additionalProperties: false,
}

/** What a sub-agent is told where nothing else is defined. */
const promptSchema: Schema = {
  '~standard': {
    version: 1,
    vendor: 'millrace',
    validate: value =>
      typeof (Object(value) as { prompt?: unknown }).prompt === 'string'
        ? { value }
        : { issues: [{ message: 'expected a string', path: ['prompt'] }] },
  },
}

/** Makes an agent or a workflow one that another agent may call; throws where no model could. */
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
    throw new ValidationError('subAgent: expected what agent() or workflow() gives')
  }
  checkToolName(name)
  checkKeys(`subAgent ${name}`, options, SUB_AGENT_OPTIONS)
  checkApproval(name, approval)
  if (prompt !== undefined && typeof prompt !== 'function') {
    throw new ValidationError(`tool ${name}: prompt: expected a function, found ${typeof prompt}`)
  }
  const takes = program.kind === 'workflow' ? program.input : undefined
  const input = options.inputSchema ?? takes?.schema
  return {
    executor: 'agent',
    name,
    program,
    inputSchema: input ?? promptSchema,
    jsonSchema: input
      ? jsonSchemaOf(
          input,
          `tool ${name}: inputSchema`,
          options.jsonSchema ?? (options.inputSchema ? undefined : takes?.jsonSchema),
        )
      : PROMPT,
    // What a workflow takes it reads from what was said: what its schema makes of that is not what it takes.
    prompt: prompt ?? (takes === undefined ? textOf : options.inputSchema && (value => value)),
    ...(description !== undefined && { description }),
    ...(title !== undefined && { title }),
    ...(approval !== undefined && { approval: approval as Approval<never> }),
  }
}

/** A sub-agent, as it was given or as `subAgent()` makes it; throws, with the place, where it is none. */
export function subAgentOf(place: string, given: Program | SubAgent): SubAgent {
  const { executor, kind } = Object(given) as { executor?: unknown; kind?: unknown }
  if (executor === 'agent') return given as SubAgent
  if (kind === 'agent' || kind === 'workflow') return subAgent(given as Agent)
  throw new ValidationError(`${place}: expected what agent(), workflow() or subAgent() gives`)
}

/** A prompt as it is; anything else as JSON. */
function textOf(input: unknown): string {
  const { prompt, ...rest } = Object(input) as { prompt?: unknown }
  return typeof prompt === 'string' && Object.keys(rest).length === 0 ? prompt : JSON.stringify(input)
}
