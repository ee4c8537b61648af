import type { Json, JsonObject } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { checkKeys, checkObject, describeType } from '../error/check-object.ts'
import type { Jsonified } from '../schema/json.ts'
import { checkSchema, type InputOf, type JsonSchema, jsonSchemaOf, type Schema } from '../schema/schema.ts'
import { checkName } from './agent-checks.ts'
import { type Budget, budgetOf } from './budget.ts'
import { type Edge, type EdgeDefinition, edgeOf } from './edge.ts'
import { Graph } from './graph.ts'
import { mermaidOf } from './mermaid.ts'
import { type Node, type NodeDefinition, nodeOf } from './node.ts'
import type { AgentOf, CheckedEdges, GivenTo, OutputFrom } from './passing.ts'
import { checkWiring } from './wiring.ts'
import { fail } from './workflow-checks.ts'

/** Where a run stands that another version of the workflow began. */
export interface MigrationPoint {
  /** The node that it is in, or that comes next. */
  readonly node: string
  /** What that node received. */
  readonly input: Json
  /** The workflow's state. */
  readonly state: JsonObject
}

/** Where a run goes on that another version began; nothing where it goes on as it stands. */
export type Migration<Name extends string = string> = (
  at: MigrationPoint,
) => { readonly node: Name; readonly input: Json } | undefined

/** The nodes of a workflow, by their ids. */
export type NodeDefinitions = Readonly<Record<string, NodeDefinition>>

type NameOf<Nodes> = keyof Nodes & string

export interface WorkflowDefinition<
  Id extends string,
  Nodes extends NodeDefinitions,
  Edges extends readonly EdgeDefinition<NameOf<Nodes>>[],
  I extends Schema | undefined,
> {
  readonly id: Id
  /** Of the program; a worker takes only runs of a version that it has or can migrate. */
  readonly version?: string
  /** What the first node receives; the text of the person's message, if nothing is said. */
  readonly inputSchema?: I
  /** The JSON Schema of the input, for schemas that cannot produce one. */
  readonly jsonSchema?: JsonSchema
  readonly nodes: Nodes
  readonly edges: Edges & NoInfer<CheckedEdges<Nodes, Edges, I>>
  /** How many executions of nodes a run may take. */
  readonly maxSteps?: number
  readonly budget?: Partial<Omit<Budget, 'steps'>>
  /** How runs of other versions go on in this one, by their version. */
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

/** A program: a graph of nodes. */
export interface Workflow<Id extends string = string, Input = unknown, Output = unknown, Shown = unknown> {
  readonly kind: 'workflow'
  /** Its id. */
  readonly name: Id
  /** `workflow:id@version`. */
  readonly program: string
  readonly version: string
  readonly input: { readonly schema: Schema; readonly jsonSchema: JsonSchema | undefined } | undefined
  readonly nodes: ReadonlyMap<string, Node>
  readonly graph: Graph
  readonly budget: Budget
  readonly migrations: ReadonlyMap<string, Migration>
  /** The workflow as a diagram in the words of Mermaid; the same whenever it is defined the same. */
  toMermaid(): string
  /** Never there: what a run of it takes and gives, and what clients see of it, for the compiler. */
  readonly types?: { readonly input: Input; readonly output: Output; readonly shown: Shown }
}

/** What clients see of a workflow: what a call of it carries, and the agents that are its nodes. */
export interface WorkflowShown<Nodes, I extends Schema | undefined> {
  readonly said: I extends Schema ? Jsonified<InputOf<I>> : { readonly prompt: string }
  readonly called: AgentOf<Nodes[keyof Nodes]>
}

/** What a call of a workflow carries, where another agent calls it as it is. */
export type WorkflowCallInput<W> = W extends { readonly types?: { readonly shown: { readonly said: infer S } } }
  ? S
  : unknown

/** What a run of a workflow gives: the data of the nodes with an edge to the end, undefined where one has none. */
export type WorkflowOutput<W> = W extends Workflow<string, unknown, infer Output> ? Output : unknown

/** What the first node of a workflow receives. */
export type WorkflowInput<W> = W extends Workflow<string, infer Input> ? Input : unknown

/** Defines a workflow; throws where it could not run. */
export function workflow<
  const Id extends string,
  const Nodes extends NodeDefinitions,
  const Edges extends readonly EdgeDefinition<NameOf<Nodes>>[],
  I extends Schema | undefined = undefined,
>(
  definition: WorkflowDefinition<Id, Nodes, Edges, I>,
): Workflow<Id, GivenTo<I>, OutputFrom<Nodes, Edges>, WorkflowShown<Nodes, I>> {
  checkObject('workflow', definition)
  const { id, version = '1', maxSteps } = definition
  checkName('workflow', id, 'id', id)
  checkName('workflow', id, 'version', version)
  const place = `workflow ${id}`
  checkKeys(place, definition, WORKFLOW_OPTIONS)
  const nodes = nodesOf(place, definition.nodes)
  const edges = edgesOf(place, definition.edges)
  checkWiring(place, nodes, edges)
  return {
    kind: 'workflow',
    name: id,
    program: `workflow:${id}@${version}`,
    version,
    input: inputOf(place, definition.inputSchema, definition.jsonSchema),
    nodes,
    graph: new Graph(edges),
    budget: budgetOf(place, { ...definition.budget, ...(maxSteps !== undefined && { steps: maxSteps }) }),
    migrations: migrationsOf(id, version, definition.migrate),
    toMermaid: () => mermaidOf(nodes, edges),
  }
}

const NODE_ID = /^[\w-]{1,64}$/

function nodesOf(place: string, given: NodeDefinitions): ReadonlyMap<string, Node> {
  if (!isObject(given)) fail(`${place}: nodes`, `expected an object, found ${describeType(given)}`)
  const nodes = Object.entries<NodeDefinition>(given)
  if (nodes.length === 0) fail(`${place}: nodes`, 'there are none: a workflow has one or more')
  return new Map(
    nodes.map(([id, definition]) => {
      const here = `${place}: node ${id}`
      if (!NODE_ID.test(id)) fail(here, 'its id: expected 1 to 64 letters, digits, _ and -')
      if (id === 'start' || id === 'end') fail(here, `its id: 'start' and 'end' are no nodes: choose another`)
      // Positions and joins are objects whose fields are nodes.
      if (id in Object.prototype) fail(here, 'its id: every object has a field by that name: choose another')
      return [id, nodeOf(here, id, definition)]
    }),
  )
}

function edgesOf(place: string, given: readonly EdgeDefinition[]): readonly Edge[] {
  if (!Array.isArray(given)) fail(`${place}: edges`, `expected an array, found ${describeType(given)}`)
  return given.map((definition, index) => edgeOf(`${place}: edges.${index}`, definition))
}

function inputOf(place: string, schema: Schema | undefined, jsonSchema: JsonSchema | undefined): Workflow['input'] {
  const here = `${place}: inputSchema`
  if (schema !== undefined) checkSchema(schema, here)
  else if (jsonSchema !== undefined) fail(`${place}: jsonSchema`, 'expected inputSchema beside it')
  if (schema === undefined || jsonSchema !== undefined) {
    return schema && { schema, jsonSchema: jsonSchemaOf(schema, here, jsonSchema) }
  }
  try {
    return { schema, jsonSchema: jsonSchemaOf(schema, here) }
  } catch {
    // Only models need it: who makes the workflow a tool is told then.
    return { schema, jsonSchema: undefined }
  }
}

function migrationsOf(name: string, version: string, given: object = {}): ReadonlyMap<string, Migration> {
  if (!isObject(given)) fail(`workflow ${name}: migrate`, `expected an object, found ${describeType(given)}`)
  for (const [other, migration] of Object.entries(given)) {
    const here = `workflow ${name}: migrate.${other}`
    checkName('workflow', name, 'migrate', other)
    if (other === version) fail(here, `this is version ${version} itself: name those that came before it`)
    if (typeof migration !== 'function') fail(here, `expected a function, found ${describeType(migration)}`)
  }
  return new Map(Object.entries(given as Readonly<Record<string, Migration>>))
}
