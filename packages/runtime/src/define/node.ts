import type { Json, Message, Usage } from '@millrace/protocol'
import type { Backoff } from '../model/backoff.ts'
import type { Agent } from './agent.ts'
import type { VoidReturn } from './tool.ts'
import { checkNode, jsonOf } from './workflow-checks.ts'

/** What a node's code is given. */
export interface NodeContext<Input = unknown, Params = undefined> {
  /** What the node before returned as `data`; of the first node, what the workflow was given. */
  readonly input: Input
  /** What the definition says beside the code. */
  readonly params: Params
  /** The node's id. */
  readonly node: string
  /** Which execution of a node this is in the run, from 1 on. */
  readonly step: number
  readonly sessionId: string
  readonly runId: string
  /** What the client sent with its request: input, and so not to be trusted. */
  readonly data: Json | undefined
  /** The conversation up to this run, with the message that asked for it. */
  readonly messages: readonly Message[]
  /** What the run has used so far. */
  readonly tokenUsage: Usage
  /** Aborted when the run stops, or another process has taken over. */
  readonly abortSignal: AbortSignal
}

/** An object that a node shows to people beside its words. */
export interface StructuredResult {
  readonly data: Json
  readonly dataType?: string
  readonly streamId?: string
  readonly schemaId?: string
  readonly schemaVersion?: string
  readonly id?: string
}

/** What a node shows to people when it has ended. */
export interface NodeUi {
  readonly message?: string | undefined
  readonly structured?: StructuredResult | undefined
}

/** What a node's code may return; it may also return nothing. */
export interface NodeResult<Data = unknown, Condition extends string = string> {
  /** What the next node receives; where there is none, it receives what this one did. */
  readonly data?: Data | undefined
  readonly ui?: NodeUi | undefined
  /** Which of its edges the run goes on by. */
  readonly condition?: Condition | undefined
  /** The id of another workflow that the run goes on with; `data` is what it is given. */
  readonly transitionTo?: string | undefined
}

/** What the node that an error is routed to receives. */
export interface NodeFailure {
  /** The node that failed. */
  readonly node: string
  readonly code: string
  readonly message: string
  /** What the node that failed had received. */
  readonly input: Json
}

/** When a node that failed runs again; waiting for a person is no failure. */
export interface NodeRetry {
  /** How often it may run, the first time included. */
  readonly attempts: number
  readonly backoff?: Partial<Backoff>
  /** Whether it may run again after this error; after any, if nothing is said. */
  readonly when?: (error: unknown) => boolean
}

/** What becomes of the run where a node has failed for good: it fails too, goes on with data in place of the node's, or goes to another node. */
export type ErrorPolicy = 'stop' | { readonly continue: unknown } | { readonly route: '' | (string & {}) }

/** What a condition is taken for: a literal, which the compiler would widen to a text if it were only that. */
type Literal = '' | (string & {})

type Returned = NodeResult<unknown, Literal> | VoidReturn | undefined

/** A node's code: a plain function. */
export type NodeFunction = (context: NodeContext<never, never>) => Returned | PromiseLike<Returned>

export interface NodeOptions {
  /** What people are told while it runs; the node's id, if nothing is said. */
  readonly title?: string
  readonly retry?: NodeRetry
  /** What becomes of the run where the node fails; it fails too, if nothing is said. */
  readonly onError?: ErrorPolicy
}

/** A node that is code with options. */
export interface FunctionNodeDefinition extends NodeOptions {
  readonly run: NodeFunction
  readonly params?: unknown
  readonly agent?: undefined
}

/** A node that is an agent with options. */
export interface AgentNodeDefinition extends NodeOptions {
  readonly agent: Agent
  /** What the agent is told, made of the input; the same each time it is asked. */
  readonly prompt?: (input: never) => string
  readonly run?: undefined
}

export type NodeDefinition = NodeFunction | FunctionNodeDefinition | Agent | AgentNodeDefinition

interface Common {
  readonly id: string
  readonly title: string
  readonly retry: Retry | undefined
  readonly onError: OnError
}

/** When a node that failed runs again, with all that was not said. */
interface Retry {
  readonly attempts: number
  readonly backoff: Partial<Backoff>
  readonly when: (error: unknown) => boolean
}

type OnError =
  | { readonly mode: 'stop' }
  | { readonly mode: 'continue'; readonly data: Json }
  | { readonly mode: 'route'; readonly to: string }

/** A node of code, as the engine runs it. */
interface FunctionNode extends Common {
  readonly agent?: undefined
  readonly run: (context: NodeContext<unknown, unknown>) => unknown
  readonly params: unknown
}

/** A node that is an agent, as the engine runs it. */
interface AgentNode extends Common {
  readonly run?: undefined
  readonly agent: Agent
  readonly prompt: (input: unknown) => string
  readonly params: undefined
}

/** One station of a workflow. */
export type Node = FunctionNode | AgentNode

/** A node with all that its definition left unsaid; throws where it is none. `place` names the workflow and the node. */
export function nodeOf(place: string, id: string, definition: NodeDefinition): Node {
  checkNode(place, definition)
  const { run, agent, prompt, params, ...options } = partsOf(definition)
  const { title = id, retry, onError = 'stop' } = options
  const common: Common = {
    id,
    title,
    retry: retry && { attempts: retry.attempts, backoff: retry.backoff ?? {}, when: retry.when ?? (() => true) },
    onError: policyOf(place, onError),
  }
  if (agent === undefined) return { ...common, run: run as FunctionNode['run'], params }
  return { ...common, agent, prompt: (prompt as AgentNode['prompt'] | undefined) ?? textOf, params: undefined }
}

type Parts = NodeOptions & {
  readonly run?: NodeFunction | undefined
  readonly params?: unknown
  readonly agent?: Agent | undefined
  readonly prompt?: AgentNodeDefinition['prompt']
}

function partsOf(definition: NodeDefinition): Parts {
  if (typeof definition === 'function') return { run: definition }
  return 'kind' in definition ? { agent: definition } : definition
}

function policyOf(place: string, policy: ErrorPolicy): OnError {
  if (policy === 'stop') return { mode: 'stop' }
  if ('route' in policy) return { mode: 'route', to: policy.route }
  return { mode: 'continue', data: jsonOf(`${place}: onError.continue`, policy.continue) }
}

/** A text as it is; anything else as JSON. */
const textOf = (input: unknown): string => (typeof input === 'string' ? input : (JSON.stringify(input) ?? ''))
