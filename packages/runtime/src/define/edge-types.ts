// Compile-time checks of workflows: the types of the data that passes along edges, and a readable problem where they do
// not fit.

import type { Jsonified } from '../schema/json.ts'
import type { OutputOf, Schema } from '../schema/schema.ts'
import type { Agent, OutputOfAgent } from './agent.ts'
import type { EdgeDefinition } from './edge.ts'
import type { NodeFailure } from './node.ts'

/** Input type of the first node of a workflow. */
export type FirstNodeInput<I extends Schema | undefined> = I extends Schema ? Jsonified<OutputOf<I>> : string

type Edges = readonly EdgeDefinition[]

// In these types, `E` is all edges of the workflow, `ThisEdge` is one of them, and `I` is the schema of the workflow's input.

// Input and result of a node, by its definition alone.

type CodeOf<N> = N extends { readonly run: infer Run } ? Run : N

type ContextOf<N> = CodeOf<N> extends (context: infer Context) => unknown ? Context : unknown

/** Input type that a node declares; unknown if its code does not declare one. */
type DeclaredInput<N> = N extends { readonly kind: 'agent' }
  ? string
  : N extends { readonly agent: Agent }
    ? N extends { readonly prompt: (input: infer Input) => string }
      ? Input
      : string
    : ContextOf<N> extends { readonly input: infer Input }
      ? Input
      : unknown

/** The agent of a node; never for a function. */
export type AgentOf<N> = N extends { readonly kind: 'agent' } ? N : N extends { readonly agent: infer A } ? A : never

/** Result type of a node. For an agent: its output, or else its text. */
type NodeReturn<N> = [AgentOf<N>] extends [never]
  ? CodeOf<N> extends (...args: never) => infer Returned
    ? Awaited<Returned>
    : never
  : { readonly data: [OutputOfAgent<AgentOf<N>>] extends [undefined] ? string : OutputOfAgent<AgentOf<N>> }

/** The conditions that a node may return. */
type Conditions<Returned> = Returned extends { readonly condition?: infer Condition }
  ? Extract<Condition, string>
  : never

/** The workflows to which a node may transition. */
type TransitionTarget<Returned> = Returned extends { readonly transitionTo?: infer To } ? Extract<To, string> : never

/** The data of `onError.continue`, which replaces the data of a failed node. */
type FallbackData<N> = N extends { readonly onError: { readonly continue: infer Data } }
  ? Jsonified<Mutable<Data>>
  : never

/** The data that passes along an edge after its node failed: a failed node has no condition. */
type FallbackDataAlong<Nodes, ThisEdge> = ThisEdge extends readonly [infer From extends keyof Nodes, ...unknown[]]
  ? OptionsOf<ThisEdge> extends { readonly when: string }
    ? never
    : FallbackData<Nodes[From]>
  : never

/** The params type of a node's code; unknown if the code does not declare one. */
type ParamsOf<N> =
  ContextOf<N> extends { readonly params: infer Params } ? ([Params] extends [never] ? unknown : Params) : unknown

type DeclaredParams<N> = N extends { readonly params: infer Params } ? Params : undefined

/** Removes `readonly`: a definition is inferred as constants, but code may declare mutable types. */
type Mutable<T> = T extends readonly unknown[] | Readonly<Record<string, unknown>>
  ? { -readonly [K in keyof T]: Mutable<T[K]> }
  : T

// Data along an edge.

type EdgeFrom<E extends Edges, From> = Extract<E[number], readonly [From, ...unknown[]]>

type OptionsOf<ThisEdge> = ThisEdge extends readonly [unknown, unknown, infer Options] ? Options : object

/** The conditions for which a node has an edge. */
type EdgeConditions<E extends Edges, From> = WhenOf<EdgeFrom<E, From>>

type WhenOf<ThisEdge> = ThisEdge extends readonly [unknown, unknown, { readonly when: infer When }] ? When : never

/** The results of a node that lead along an edge. A result with a known condition leads along no other edge. */
type ResultsAlong<Returned, E extends Edges, ThisEdge> = Returned extends { readonly transitionTo: string }
  ? never
  : [WhenOf<ThisEdge>] extends [never]
    ? Returned extends { readonly condition: infer Condition extends string }
      ? [Exclude<Condition, EdgeConditions<E, FromOf<ThisEdge>>>] extends [never]
        ? never
        : Returned
      : Returned
    : WhenOf<ThisEdge> extends Conditions<Returned>
      ? Returned
      : never

type FromOf<ThisEdge> = ThisEdge extends readonly [infer From, ...unknown[]] ? From : never

/** The data of a result; without data, the input of the node. */
type DataOf<Returned, Received> = Returned extends { readonly data?: infer Data }
  ? unknown extends Data
    ? 'data' extends keyof Returned
      ? Data
      : Received
    : undefined extends (Returned extends { readonly data: infer Present } ? Present : undefined)
      ? Jsonified<Exclude<Data, undefined>> | Received
      : Jsonified<Data>
  : Received

/** The data that passes along an edge, given the input of its node. */
type DataAlong<
  Nodes,
  E extends Edges,
  I extends Schema | undefined,
  ThisEdge,
  Seen = never,
> = ThisEdge extends readonly [infer From extends keyof Nodes, ...unknown[]]
  ? DataOf<ResultsAlong<NodeReturn<Nodes[From]>, E, ThisEdge>, ReceivedInput<Nodes, E, I, From, Seen>>
  : FirstNodeInput<I>

/** The input of a node: its declared type, or else the data along the edges to it. */
type ReceivedInput<Nodes, E extends Edges, I extends Schema | undefined, Name extends keyof Nodes, Seen = never> =
  unknown extends DeclaredInput<Nodes[Name]>
    ? Name extends Seen
      ? never
      : IncomingData<Nodes, E, I, Name, Seen | Name>
    : DeclaredInput<Nodes[Name]>

type IncomingData<Nodes, E extends Edges, I extends Schema | undefined, Name extends keyof Nodes, Seen> =
  | (ForkJoinedBy<E, Name> extends never
      ? DataAlong<
          Nodes,
          E,
          I,
          Extract<E[number], readonly [unknown, Name, ...unknown[]] | ForksStartingWith<E, Name>>,
          Seen
        >
      : JoinInput<Nodes, E, I, ForkJoinedBy<E, Name>, Name, Seen>)
  | (Name extends ErrorRouteTarget<Nodes> ? NodeFailure : never)

/** The forks with a branch that starts with a node. */
type ForksStartingWith<E extends Edges, Name> = E[number] extends infer ThisEdge
  ? ThisEdge extends readonly [unknown, readonly (infer Heads)[], unknown]
    ? Name extends Heads
      ? ThisEdge
      : never
    : never
  : never

/** The fork that a node joins. */
type ForkJoinedBy<E extends Edges, Join> = Extract<E[number], readonly [unknown, unknown, { readonly join: Join }]>

/** The nodes to which errors are routed. */
type ErrorRouteTarget<Nodes, Name extends keyof Nodes = keyof Nodes> = Nodes[Name] extends infer N
  ? N extends { readonly onError: { readonly route: infer To } }
    ? To
    : never
  : never

// Forks and joins.

/** The input of a join: the result of each branch, by the first node of the branch. */
type JoinInput<Nodes, E extends Edges, I extends Schema | undefined, Fork, Join, Seen = never> = Fork extends readonly [
  unknown,
  readonly (infer Heads)[],
  unknown,
]
  ? { [Head in Heads & string]: BranchOutput<Nodes, E, I, BranchNodes<Nodes, E, Head, Join>, Join, Seen> }
  : never

/** The data that a branch passes to the join. */
type BranchOutput<Nodes, E extends Edges, I extends Schema | undefined, Members, Join, Seen> = DataAlong<
  Nodes,
  E,
  I,
  Extract<E[number], readonly [Members, Join, ...unknown[]]>,
  Seen
>

/** The nodes that a branch may run through before the join. */
type BranchNodes<Nodes, E extends Edges, Members, Join> =
  Exclude<
    Targets<EdgeFrom<E, Members>> | ErrorRouteTarget<Nodes, Members & keyof Nodes>,
    Members | Join | 'end'
  > extends infer More
    ? [More] extends [never]
      ? Members
      : BranchNodes<Nodes, E, Members | More, Join>
    : never

type Targets<ThisEdge> = ThisEdge extends readonly [unknown, infer To, ...unknown[]]
  ? To extends readonly (infer Heads)[]
    ? Heads
    : To
  : never

/** Output type of a workflow; unknown if it may transition to another one. */
export type WorkflowOutputFrom<Nodes, E extends Edges> = [
  { [Name in keyof Nodes]: TransitionTarget<NodeReturn<Nodes[Name]>> }[keyof Nodes],
] extends [never]
  ? OutputAlong<Nodes, E, Extract<E[number], readonly [unknown, 'end', ...unknown[]]>>
  : unknown

/** The output of a run that ends by an edge. A last node without data gives undefined, not its input. */
type OutputAlong<Nodes, E extends Edges, ThisEdge> = ThisEdge extends readonly [
  infer From extends keyof Nodes,
  ...unknown[],
]
  ? DataOf<ResultsAlong<NodeReturn<Nodes[From]>, E, ThisEdge>, undefined> extends infer Data
    ? [FallbackDataAlong<Nodes, ThisEdge>] extends [Data]
      ? Data
      : Data | FallbackDataAlong<Nodes, ThisEdge>
    : never
  : never

// The checks.

/** A problem that the compiler shows at the edge. */
interface EdgeProblem<Text> {
  readonly problem: Text
}

/**
 * The edges, with a problem where the data of an edge or its node does not fit. With node names of type `string` or
 * edges of unknown number nothing is checked: the compiler sees such types while contexts are not inferred yet, and
 * reports wrong names itself.
 */
export type CheckedEdges<Nodes, E extends Edges, I extends Schema | undefined> = string extends keyof Nodes
  ? unknown
  : number extends E['length']
    ? unknown
    : {
        readonly [K in keyof E]: [ProblemOf<Nodes, E, I, E[K]>] extends [never]
          ? unknown
          : readonly [unknown, EdgeProblem<ProblemOf<Nodes, E, I, E[K]>>, ...unknown[]]
      }

type ProblemOf<Nodes, E extends Edges, I extends Schema | undefined, ThisEdge> = ThisEdge extends readonly [
  infer From extends string,
  ...unknown[],
]
  ?
      | (From extends keyof Nodes
          ?
              | BadParams<Nodes, From>
              | BadPolicy<Nodes, E, I, From>
              | BadWhen<Nodes, From, ThisEdge>
              | MissingEdge<Nodes, E, From>
          : never)
      | BadTarget<Nodes, E, I, ThisEdge, From, Targets<ThisEdge>>
      | BadJoin<Nodes, E, I, ThisEdge>
  : never

type BadWhen<Nodes, From extends keyof Nodes & string, ThisEdge> =
  OptionsOf<ThisEdge> extends { readonly when: infer When extends string }
    ? When extends Conditions<NodeReturn<Nodes[From]>>
      ? never
      : `${From} never returns the condition ${When}`
    : never

/** The conditions of a node that no edge has. A condition of type `string` is not checked. */
type MissingEdge<Nodes, E extends Edges, From extends keyof Nodes & string> = [
  UnconditionalEdge<EdgeFrom<E, From>>,
] extends [never]
  ? Exclude<Conditions<NonTransition<NodeReturn<Nodes[From]>>>, EdgeConditions<E, From>> extends infer Condition extends
      string
    ? Condition extends Condition
      ? string extends Condition
        ? never
        : `${From} may return the condition ${Condition}, but no edge has it: add an edge with when or otherwise`
      : never
    : never
  : never

/** The edges of a node without a condition. */
type UnconditionalEdge<ThisEdge> = ThisEdge extends unknown
  ? [WhenOf<ThisEdge>] extends [never]
    ? ThisEdge
    : never
  : never

/** The results of a node that do not transition to another workflow. */
type NonTransition<Returned> = Returned extends { readonly transitionTo: string } ? never : Returned

type BadTarget<
  Nodes,
  E extends Edges,
  I extends Schema | undefined,
  ThisEdge,
  From extends string,
  To,
> = To extends keyof Nodes
  ? To extends Joins<E>
    ? never
    : [DataAlong<Nodes, E, I, ThisEdge> | FallbackDataAlong<Nodes, ThisEdge>] extends [DeclaredInput<Nodes[To]>]
      ? never
      : [DeclaredInput<Nodes[To]>] extends [never]
        ? `${To & string} has no input type: annotate its context, as in NodeContext<string>`
        : `${To & string} does not take what ${From} ${From extends 'start' ? 'gives' : 'returns'}`
  : never

type BadJoin<Nodes, E extends Edges, I extends Schema | undefined, ThisEdge> =
  OptionsOf<ThisEdge> extends { readonly join: infer Join extends keyof Nodes & string }
    ? [JoinInput<Nodes, E, I, ThisEdge, Join>] extends [DeclaredInput<Nodes[Join]>]
      ? never
      : `${Join} does not accept the results of its branches`
    : never

type Joins<E extends Edges> = JoinOf<E[number]>

type JoinOf<ThisEdge> = ThisEdge extends readonly [unknown, unknown, { readonly join: infer Join }] ? Join : never

type BadParams<Nodes, Name extends keyof Nodes & string> = [DeclaredParams<Nodes[Name]>] extends [ParamsOf<Nodes[Name]>]
  ? never
  : [Mutable<DeclaredParams<Nodes[Name]>>] extends [ParamsOf<Nodes[Name]>]
    ? never
    : `the params of ${Name} do not fit its code`

type BadPolicy<
  Nodes,
  E extends Edges,
  I extends Schema | undefined,
  Name extends keyof Nodes & string,
> = Nodes[Name] extends { readonly onError: { readonly route: infer To extends string } }
  ? To extends keyof Nodes
    ? NodeFailure extends DeclaredInput<Nodes[To]>
      ? never
      : `${To}, to which errors of ${Name} are routed, does not accept a NodeFailure`
    : `errors of ${Name} are routed to ${To}, which does not exist`
  : [FallbackData<Nodes[Name]>] extends [DataOf<NodeReturn<Nodes[Name]>, ReceivedInput<Nodes, E, I, Name>>]
    ? never
    : `${Name} continues after an error with data that does not fit its result`
