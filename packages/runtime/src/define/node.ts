import type { Json, Message, Usage } from '@millrace/protocol'
import type { Backoff } from '@millrace/protocol/retry'
import type { Agent } from './agent.ts'
import type { VoidReturn } from './tool.ts'
import { checkNode, jsonOption } from './workflow-checks.ts'

/** Argument of a node function. */
export interface NodeContext<Input = unknown, Params = undefined> {
  /** `data` of the previous node; for the first node, the input of the workflow. */
  readonly input: Input
  /** `params` of the node definition. */
  readonly params: Params
  /** The node's id. */
  readonly node: string
  /** Number of this node execution in the run, starting at 1. */
  readonly step: number
  /** Id of the session's log, unique in the store. `sessionIdOf` gives the id that the owner's clients use. */
  readonly sessionId: string
  /** Id of the run. */
  readonly runId: string
  /** The data that the client sent with its request. Untrusted input. */
  readonly data: Json | undefined
  /** The conversation up to this run, including the message that started it. */
  readonly messages: readonly Message[]
  /** Tokens that the run has used so far. */
  readonly tokenUsage: Usage
  /** Aborted when the run stops, or when another process has taken over. */
  readonly abortSignal: AbortSignal
}

/** Structured data that a node shows to the user besides its text. */
export interface StructuredResult {
  /** The complete object. */
  readonly data: Json
  /** The application's name for this kind of object. @default 'generic' */
  readonly dataType?: string
  /** Updates with the same id belong to one object. @default a new object */
  readonly streamId?: string
  /** Id of the object's schema, for clients. @default none */
  readonly schemaId?: string
  /** Version of the object's schema, for clients. @default none */
  readonly schemaVersion?: string
  /** The application's id of the object, for clients. @default none */
  readonly id?: string
}

/** Content that a node shows to the user when it ends. */
export interface NodeUi {
  /** Text of the workflow's message. @default none */
  readonly message?: string | undefined
  /** Structured data beside the text. @default none */
  readonly structured?: StructuredResult | undefined
}

/** Result of a node function. It may also return undefined. */
export interface NodeResult<Data = unknown, Condition extends string = string> {
  /** Input of the next node. @default the input of this node */
  readonly data?: Data | undefined
  /** Content that the node shows. @default none */
  readonly ui?: NodeUi | undefined
  /** Selects the edge with this `when`. @default the edge without a condition, or with `otherwise` */
  readonly condition?: Condition | undefined
  /** Id of another workflow with which the run continues. `data` becomes its input. @default the run stays in this workflow */
  readonly transitionTo?: string | undefined
}

/** Input of a node that errors are routed to. */
export interface NodeFailure {
  /** The node that failed. */
  readonly node: string
  /** Code of the error. */
  readonly code: string
  /** Public message of the error. */
  readonly message: string
  /** The input of the failed node. */
  readonly input: Json
}

/** Retries of a failed node. Waiting for a person is not a failure. */
export interface NodeRetry {
  /** Maximum number of attempts, including the first. */
  readonly attempts: number
  /** Delays between attempts. @default the `backoff` of the runtime */
  readonly backoff?: Partial<Backoff>
  /** Whether to retry after this error. @default always */
  readonly when?: (error: unknown) => boolean
}

/** What happens when a node has finally failed: the run fails, continues with other data, or goes to another node. */
export type ErrorPolicy = 'stop' | { readonly continue: unknown } | { readonly route: '' | (string & {}) }

/** Keeps a condition a literal type; the compiler would widen it to `string`. */
type Literal = '' | (string & {})

type Returned = NodeResult<unknown, Literal> | VoidReturn | undefined

/** The code of a node: a plain function. */
export type NodeFunction = (context: NodeContext<never, never>) => Returned | PromiseLike<Returned>

/** Options of all nodes. */
export interface NodeOptions {
  /** Title that users see while the node runs. @default the node's id */
  readonly title?: string
  /** Retries of the node when it fails. @default no retries */
  readonly retry?: NodeRetry
  /** What happens when the node fails. @default 'stop' */
  readonly onError?: ErrorPolicy
}

/** A node that runs a function. */
export interface FunctionNodeDefinition extends NodeOptions {
  /** The code of the node. */
  readonly run: NodeFunction
  /** Value that the code gets as `params`. @default undefined */
  readonly params?: unknown
  readonly agent?: undefined
}

/** A node that runs an agent. */
export interface AgentNodeDefinition extends NodeOptions {
  /** The agent to run. */
  readonly agent: Agent
  /** Builds the agent's message from the input. Must be deterministic. @default the input as text or JSON */
  readonly prompt?: (input: never) => string
  readonly run?: undefined
}

/** A node of a workflow: a function, an agent, or one of them with options. */
export type NodeDefinition = NodeFunction | FunctionNodeDefinition | Agent | AgentNodeDefinition

/** Fields of all normalized nodes. */
interface NodeBase {
  readonly id: string
  readonly title: string
  readonly retry: NormalizedRetry | undefined
  readonly onError: NormalizedErrorPolicy
}

/** `NodeRetry` with defaults. */
interface NormalizedRetry {
  readonly attempts: number
  readonly backoff: Partial<Backoff>
  readonly when: (error: unknown) => boolean
}

/** `ErrorPolicy` with its data as JSON. */
type NormalizedErrorPolicy =
  | { readonly mode: 'stop' }
  | { readonly mode: 'continue'; readonly data: Json }
  | { readonly mode: 'route'; readonly to: string }

/** A normalized function node. */
interface FunctionNode extends NodeBase {
  readonly agent?: undefined
  readonly run: (context: NodeContext<unknown, unknown>) => unknown
  readonly params: unknown
}

/** A normalized agent node. */
interface AgentNode extends NodeBase {
  readonly run?: undefined
  readonly agent: Agent
  readonly prompt: (input: unknown) => string
  readonly params: undefined
}

/** A normalized node of a workflow. */
export type Node = FunctionNode | AgentNode

/**
 * Validates a node and adds the defaults. `path` names the workflow and the node in error messages.
 * @throws {ValidationError} if the node is not valid.
 */
export function nodeOf(path: string, id: string, definition: NodeDefinition): Node {
  checkNode(path, definition)
  const { run, agent, prompt, params, ...options } = partsOf(definition)
  const { title = id, retry, onError = 'stop' } = options
  const common: NodeBase = {
    id,
    title,
    retry: retry && { attempts: retry.attempts, backoff: retry.backoff ?? {}, when: retry.when ?? (() => true) },
    onError: policyOf(path, onError),
  }
  if (agent === undefined) return { ...common, run: run as FunctionNode['run'], params }
  return { ...common, agent, prompt: (prompt as AgentNode['prompt'] | undefined) ?? textOf, params: undefined }
}

type NodeParts = NodeOptions & {
  readonly run?: NodeFunction | undefined
  readonly params?: unknown
  readonly agent?: Agent | undefined
  readonly prompt?: AgentNodeDefinition['prompt']
}

function partsOf(definition: NodeDefinition): NodeParts {
  if (typeof definition === 'function') return { run: definition }
  return 'kind' in definition ? { agent: definition } : definition
}

function policyOf(path: string, policy: ErrorPolicy): NormalizedErrorPolicy {
  if (policy === 'stop') return { mode: 'stop' }
  if ('route' in policy) return { mode: 'route', to: policy.route }
  return { mode: 'continue', data: jsonOption(`${path}: onError.continue`, policy.continue) }
}

/** A string unchanged, any other value as JSON. */
const textOf = (input: unknown): string => (typeof input === 'string' ? input : (JSON.stringify(input) ?? ''))
