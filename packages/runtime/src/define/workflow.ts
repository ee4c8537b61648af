import type { Json, JsonObject } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { checkKeys, checkObject, describeType } from '../error/check-object.ts'
import type { Jsonified } from '../schema/json.ts'
import { checkSchema, type InputOf, type JsonSchema, jsonSchemaOf, type Schema } from '../schema/schema.ts'
import { checkName } from './agent-checks.ts'
import { type Budget, budgetOf } from './budget.ts'
import { type Edge, type EdgeDefinition, edgeOf } from './edge.ts'
import type { AgentOf, CheckedEdges, FirstNodeInput, WorkflowOutputFrom } from './edge-types.ts'
import { Graph } from './graph.ts'
import { mermaidOf } from './mermaid.ts'
import { type Node, type NodeDefinition, nodeOf } from './node.ts'
import { checkWiring } from './wiring.ts'
import { fail } from './workflow-checks.ts'

/** Position of a run that another version of the workflow started. */
export interface MigrationPoint {
  /** The current node, or the next one. */
  readonly node: string
  /** The input of that node. */
  readonly input: Json
  /** The workflow's state. */
  readonly state: JsonObject
}

/** Maps the position of a run of another version to this version. Undefined keeps the position. */
export type Migration<Name extends string = string> = (
  at: MigrationPoint,
) => { readonly node: Name; readonly input: Json } | undefined

/** The nodes of a workflow, by their ids. */
export type NodeDefinitions = Readonly<Record<string, NodeDefinition>>

type NameOf<Nodes> = keyof Nodes & string

/** Options of `workflow`. */
export interface WorkflowDefinition<
  Id extends string,
  Nodes extends NodeDefinitions,
  Edges extends readonly EdgeDefinition<NameOf<Nodes>>[],
  I extends Schema | undefined,
> {
  /** Id of the workflow in runs and for clients: 1 to 64 letters, digits, `_`, `.` and `-`. */
  readonly id: Id
  /** Version of the program. A worker takes only runs of a version that it has or can migrate. @default '1' */
  readonly version?: string
  /** Schema of the first node's input. @default the text of the user's message */
  readonly inputSchema?: I
  /** JSON Schema of the input, for schemas that cannot be converted. @default converted from `inputSchema` */
  readonly jsonSchema?: JsonSchema
  /** Nodes by id: 1 to 64 letters, digits, `_` and `-`; not `start` or `end`. */
  readonly nodes: Nodes
  /** Edges between the nodes, from `'start'` to `'end'`. */
  readonly edges: Edges & NoInfer<CheckedEdges<Nodes, Edges, I>>
  /** Maximum number of node executions in a run. @default 50 */
  readonly maxSteps?: number
  /** Limits of tokens, and of time in ms. @default { tokens: 2_000_000, timeMs: 3_600_000 } */
  readonly budget?: Partial<Omit<Budget, 'steps'>>
  /** Migrations of runs of other versions, by version. @default {} */
  readonly migrate?: Readonly<Record<string, Migration<NoInfer<NameOf<Nodes>>>>>
}

const WORKFLOW_OPTIONS: readonly (keyof WorkflowDefinition<string, NodeDefinitions, [], undefined>)[] = [
  'id',
  'version',
  'inputSchema',
  'jsonSchema',
  'nodes',
  'edges',
  'maxSteps',
  'budget',
  'migrate',
]

/** A program that is a graph of nodes. */
export interface Workflow<Id extends string = string, Input = unknown, Output = unknown, ClientTypes = unknown> {
  /** Kind of the program. */
  readonly kind: 'workflow'
  /** Its id. */
  readonly name: Id
  /** `workflow:id@version`. */
  readonly program: string
  /** Version of the program. */
  readonly version: string
  /** Validates the input of a run. Undefined for any JSON. */
  readonly inputSchema: Schema | undefined
  /** JSON Schema of the input. Undefined if `inputSchema` cannot be converted. */
  readonly jsonSchema: JsonSchema | undefined
  /** The nodes by id. */
  readonly nodes: ReadonlyMap<string, Node>
  /** The edges between the nodes. */
  readonly graph: Graph
  /** Limits of a run: tokens, time in ms and node executions. */
  readonly budget: Budget
  /** Migrations of runs of earlier versions, by version. */
  readonly migrations: ReadonlyMap<string, Migration>
  /** The workflow as a Mermaid flowchart. Deterministic. */
  toMermaid(): string
  /** Never set. Carries the types of input and output, and the types that clients see. */
  readonly types?: { readonly input: Input; readonly output: Output; readonly client: ClientTypes }
}

/** Types that clients see of a workflow: the input of a call, and the agents among its nodes. */
export interface WorkflowClientTypes<Nodes, I extends Schema | undefined> {
  /** Type of the input of a call. */
  readonly callInput: I extends Schema ? Jsonified<InputOf<I>> : { readonly prompt: string }
  /** Union of the agents among the nodes. */
  readonly called: AgentOf<Nodes[keyof Nodes]>
}

/** Input of a call when another agent calls the workflow directly. */
export type WorkflowCallInput<W> = W extends { readonly types?: { readonly client: { readonly callInput: infer S } } }
  ? S
  : unknown

/** Output type of a workflow: the data of the nodes with an edge to `end`; undefined for a node without data. */
export type WorkflowOutput<W> = W extends Workflow<string, unknown, infer Output> ? Output : unknown

/** Input type of the first node of a workflow. */
export type WorkflowInput<W> = W extends Workflow<string, infer Input> ? Input : unknown

/**
 * Defines a workflow.
 * @throws {ValidationError} if an option is missing, unknown or invalid, or if nodes and edges do not fit.
 */
export function workflow<
  const Id extends string,
  const Nodes extends NodeDefinitions,
  const Edges extends readonly EdgeDefinition<NameOf<Nodes>>[],
  I extends Schema | undefined = undefined,
>(
  definition: WorkflowDefinition<Id, Nodes, Edges, I>,
): Workflow<Id, FirstNodeInput<I>, WorkflowOutputFrom<Nodes, Edges>, WorkflowClientTypes<Nodes, I>> {
  checkObject('workflow', definition)
  const { id, version = '1', maxSteps } = definition
  checkName('workflow', id, 'id', id)
  checkName('workflow', id, 'version', version)
  const path = `workflow ${id}`
  checkKeys(path, definition, WORKFLOW_OPTIONS)
  const nodes = nodesOf(path, definition.nodes)
  const edges = edgesOf(path, definition.edges)
  checkWiring(path, nodes, edges)
  return {
    kind: 'workflow',
    name: id,
    program: `workflow:${id}@${version}`,
    version,
    inputSchema: definition.inputSchema,
    jsonSchema: inputJsonSchemaOf(path, definition.inputSchema, definition.jsonSchema),
    nodes,
    graph: new Graph(edges),
    budget: budgetOf(path, { ...definition.budget, ...(maxSteps !== undefined && { steps: maxSteps }) }),
    migrations: migrationsOf(id, version, definition.migrate),
    toMermaid: () => mermaidOf(nodes, edges),
  }
}

const NODE_ID = /^[\w-]{1,64}$/

function nodesOf(path: string, value: NodeDefinitions): ReadonlyMap<string, Node> {
  if (!isObject(value)) fail(`${path}: nodes`, `expected an object, found ${describeType(value)}`)
  const nodes = Object.entries<NodeDefinition>(value)
  if (nodes.length === 0) fail(`${path}: nodes`, 'expected at least one node')
  return new Map(
    nodes.map(([id, definition]) => {
      const here = `${path}: node ${id}`
      if (!NODE_ID.test(id)) fail(here, 'its id: expected 1 to 64 letters, digits, _ and -')
      if (id === 'start' || id === 'end') fail(here, `its id: 'start' and 'end' are reserved: choose another`)
      // Positions and joins are objects with node ids as fields.
      if (id in Object.prototype) fail(here, 'its id: every object inherits a field with this name: choose another')
      return [id, nodeOf(here, id, definition)]
    }),
  )
}

function edgesOf(path: string, value: readonly EdgeDefinition[]): readonly Edge[] {
  if (!Array.isArray(value)) fail(`${path}: edges`, `expected an array, found ${describeType(value)}`)
  return value.map((definition, index) => edgeOf(`${path}: edges.${index}`, definition))
}

function inputJsonSchemaOf(
  path: string,
  schema: Schema | undefined,
  override: JsonSchema | undefined,
): JsonSchema | undefined {
  const here = `${path}: inputSchema`
  if (schema !== undefined) checkSchema(schema, here)
  else if (override !== undefined) fail(`${path}: jsonSchema`, 'expected inputSchema too, found none: set it')
  if (schema === undefined || override !== undefined) return schema && jsonSchemaOf(schema, here, override)
  try {
    return jsonSchemaOf(schema, here)
  } catch {
    // Only models need the JSON Schema: `subAgent()` reports a missing one.
    return undefined
  }
}

function migrationsOf(name: string, version: string, value: object = {}): ReadonlyMap<string, Migration> {
  if (!isObject(value)) fail(`workflow ${name}: migrate`, `expected an object, found ${describeType(value)}`)
  for (const [other, migration] of Object.entries(value)) {
    const here = `workflow ${name}: migrate.${other}`
    checkName('workflow', name, 'migrate', other)
    if (other === version) fail(here, `this is version ${version} itself: list only earlier versions`)
    if (typeof migration !== 'function') fail(here, `expected a function, found ${describeType(migration)}`)
  }
  return new Map(Object.entries(value as Readonly<Record<string, Migration>>))
}
