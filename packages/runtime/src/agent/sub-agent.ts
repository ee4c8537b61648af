// An agent as a tool of another: what the model is told of it, and what the child is told.

import { ValidationError } from '../error/error.ts'
import { checkGiven } from '../options.ts'
import { type JsonSchema, jsonSchemaOf, type OutputOf, type Schema } from '../schema/schema.ts'
import { type Approval, checkApproval } from '../tool/approval.ts'
import { checkToolName } from '../tool/tool.ts'
import type { Agent } from './agent.ts'

export interface SubAgentOptions<I extends Schema> {
  /** What the parent calls it; the agent's own name, if nothing is said. */
  readonly name?: string
  /** What it is for, for the parent's model. */
  readonly description?: string
  /** A name for people. */
  readonly title?: string
  /** What the parent says to it; a prompt, if nothing is said. */
  readonly input?: I
  /** The JSON Schema of the input, where `input` cannot say it by itself. */
  readonly jsonSchema?: JsonSchema
  /** What the child is told, made of the input; the same each time it is asked. */
  readonly prompt?: (input: OutputOf<I>) => string
  readonly approval?: Approval<OutputOf<I>>
}

/** An agent that another may call. */
export interface SubAgent {
  readonly executor: 'agent'
  readonly name: string
  readonly description?: string
  readonly title?: string
  readonly agent: Agent
  readonly input: Schema
  readonly jsonSchema: JsonSchema
  readonly prompt: (input: unknown) => string
  readonly approval?: Approval<never>
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

/** Makes an agent one that another may call; throws where no model could. */
export function subAgent<I extends Schema = Schema<{ prompt: string }>>(
  agent: Agent,
  options: SubAgentOptions<I> = {},
): SubAgent {
  checkGiven('subAgent: options', options)
  const { name = agent?.name, description, title, input, prompt, approval } = options
  if (agent?.kind !== 'agent') throw new ValidationError('subAgent: expected what agent() gives')
  checkToolName(name)
  checkApproval(name, approval)
  if (prompt !== undefined && typeof prompt !== 'function') {
    throw new ValidationError(`tool ${name}: prompt: expected a function, found ${typeof prompt}`)
  }
  return {
    executor: 'agent',
    name,
    agent,
    input: input ?? promptSchema,
    jsonSchema: input ? jsonSchemaOf(input, `tool ${name}: input`, options.jsonSchema) : PROMPT,
    prompt: (prompt as SubAgent['prompt'] | undefined) ?? textOf,
    ...(description !== undefined && { description }),
    ...(title !== undefined && { title }),
    ...(approval !== undefined && { approval: approval as Approval<never> }),
  }
}

/** A prompt as it is; anything else as JSON. */
function textOf(input: unknown): string {
  const { prompt, ...rest } = Object(input) as { prompt?: unknown }
  return typeof prompt === 'string' && Object.keys(rest).length === 0 ? prompt : JSON.stringify(input)
}
