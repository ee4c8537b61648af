import type { Json, JsonObject } from '@millrace/protocol'
import { type Budget, budgetOf } from '../agent/budget.ts'
import { checkName } from '../agent/check.ts'
import { type JsonSchema, jsonSchemaOf, type Schema } from '../schema/schema.ts'
import { type EdgeDefinition, edgeOf } from './edge.ts'
import { Graph } from './graph.ts'
import { type Node, type NodeDefinition, nodeOf } from './node.ts'
import type { CheckedEdges, GivenTo, OutputFrom } from './passing.ts'

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
  readonly input?: I
  /** The JSON Schema of the input, where `input` cannot say it by itself. */
  readonly jsonSchema?: JsonSchema
  readonly nodes: Nodes
  readonly edges: Edges & NoInfer<CheckedEdges<Nodes, Edges, I>>
  /** How many executions of nodes a run may take. */
  readonly maxSteps?: number
  readonly budget?: Partial<Omit<Budget, 'steps'>>
  /** How runs of other versions go on in this one, by their version. */
  readonly migrate?: Readonly<Record<string, Migration<NoInfer<NameOf<Nodes>>>>>
}

/** A program: a graph of nodes. */
export interface Workflow<Id extends string = string, Input = unknown, Output = unknown> {
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
  /** Never there: what a run of it takes and gives, for the compiler. */
  readonly types?: { readonly input: Input; readonly output: Output }
}

/** What a run of a workflow gives: the data of the nodes with an edge to the end. */
export type WorkflowOutput<W> = W extends Workflow<string, unknown, infer Output> ? Output : unknown

/** What the first node of a workflow receives. */
export type WorkflowInput<W> = W extends Workflow<string, infer Input> ? Input : unknown

/** Defines a workflow; throws where it could not run. */
export function workflow<
  const Id extends string,
  const Nodes extends NodeDefinitions,
  const Edges extends readonly EdgeDefinition<NameOf<Nodes>>[],
  I extends Schema | undefined = undefined,
>(definition: WorkflowDefinition<Id, Nodes, Edges, I>): Workflow<Id, GivenTo<I>, OutputFrom<Nodes, Edges, I>> {
  const { id, version = '1', input, jsonSchema, maxSteps, migrate = {} } = definition
  checkName('workflow', id, 'id', id)
  checkName('workflow', id, 'version', version)
  const place = `workflow ${id}`
  const nodes = new Map(
    Object.entries<NodeDefinition>(definition.nodes).map(([node, one]) => [node, nodeOf(node, one)]),
  )
  const edges = (definition.edges as readonly EdgeDefinition[]).map(edgeOf)
  return {
    kind: 'workflow',
    name: id,
    program: `workflow:${id}@${version}`,
    version,
    input: input && { schema: input, jsonSchema: jsonSchemaOf(input, `${place}: input`, jsonSchema) },
    nodes,
    graph: new Graph(nodes, edges),
    budget: budgetOf(place, { ...definition.budget, ...(maxSteps !== undefined && { steps: maxSteps }) }),
    migrations: new Map(Object.entries(migrate as Readonly<Record<string, Migration>>)),
  }
}
