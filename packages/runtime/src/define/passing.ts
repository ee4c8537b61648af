// What passes from node to node, for the compiler alone: what each takes and gives, and a sentence where the two do not fit.

import type { Jsonified } from '../schema/json.ts'
import type { OutputOf, Schema } from '../schema/schema.ts'
import type { Agent, OutputOfAgent } from './agent.ts'
import type { EdgeDefinition } from './edge.ts'
import type { NodeFailure } from './node.ts'

/** What the first node of a workflow receives. */
export type GivenTo<I extends Schema | undefined> = I extends Schema ? Jsonified<OutputOf<I>> : string

type Edges = readonly EdgeDefinition[]

// What a node takes and returns, told from its definition alone.

type CodeOf<N> = N extends { readonly run: infer Run } ? Run : N

type ContextOf<N> = CodeOf<N> extends (context: infer Context) => unknown ? Context : unknown

/** What a node takes; unknown where its code does not look. */
type Takes<N> = N extends { readonly kind: 'agent' }
  ? string
  : N extends { readonly agent: Agent }
    ? N extends { readonly prompt: (input: infer Input) => string }
      ? Input
      : string
    : ContextOf<N> extends { readonly input: infer Input }
      ? Input
      : unknown

/** The agent that a node is; of code, none. */
export type AgentOf<N> = N extends { readonly kind: 'agent' } ? N : N extends { readonly agent: infer A } ? A : never

/** What a node returns; of an agent, its output or else its words. */
type Returns<N> = [AgentOf<N>] extends [never]
  ? CodeOf<N> extends (...args: never) => infer Returned
    ? Awaited<Returned>
    : never
  : { readonly data: [OutputOfAgent<AgentOf<N>>] extends [undefined] ? string : OutputOfAgent<AgentOf<N>> }

/** The conditions that a node may return. */
type Conditions<Returned> = Returned extends { readonly condition?: infer Condition }
  ? Extract<Condition, string>
  : never

/** The workflows that a node may go on with in place of its own. */
type Elsewhere<Returned> = Returned extends { readonly transitionTo?: infer To } ? Extract<To, string> : never

/** What stands in for a node's data where the node failed. */
type Continued<N> = N extends { readonly onError: { readonly continue: infer Data } } ? Jsonified<Written<Data>> : never

/** What passes along an edge where the node that it leaves failed: then there is no condition. */
type ContinuedAlong<Nodes, One> = One extends readonly [infer From extends keyof Nodes, ...unknown[]]
  ? OptionsOf<One> extends { readonly when: string }
    ? never
    : Continued<Nodes[From]>
  : never

/** The params that a node's code takes; unknown where it does not look, or does not say. */
type ParamsOf<N> =
  ContextOf<N> extends { readonly params: infer Params } ? ([Params] extends [never] ? unknown : Params) : unknown

type GivenParams<N> = N extends { readonly params: infer Params } ? Params : undefined

/** A definition is read as constants, whose lists nobody could write to; what code takes need not say so. */
type Written<T> = T extends readonly unknown[] | Readonly<Record<string, unknown>>
  ? { -readonly [K in keyof T]: Written<T[K]> }
  : T

// What passes along an edge.

type EdgeFrom<E extends Edges, From> = Extract<E[number], readonly [From, ...unknown[]]>

type OptionsOf<One> = One extends readonly [unknown, unknown, infer Options] ? Options : object

/** The conditions that a node has edges of their own for. */
type Settled<E extends Edges, From> = WhenOf<EdgeFrom<E, From>>

type WhenOf<One> = One extends readonly [unknown, unknown, { readonly when: infer When }] ? When : never

/** Those of a node's results that lead along an edge; where one says which condition, it leads along no other edge. */
type Leading<Returned, E extends Edges, One> = Returned extends { readonly transitionTo: string }
  ? never
  : [WhenOf<One>] extends [never]
    ? Returned extends { readonly condition: infer Condition extends string }
      ? [Exclude<Condition, Settled<E, FromOf<One>>>] extends [never]
        ? never
        : Returned
      : Returned
    : WhenOf<One> extends Conditions<Returned>
      ? Returned
      : never

type FromOf<One> = One extends readonly [infer From, ...unknown[]] ? From : never

/** The data of a result; of one without any, what the node had received. */
type DataOf<Returned, Received> = Returned extends { readonly data?: infer Data }
  ? unknown extends Data
    ? 'data' extends keyof Returned
      ? Data
      : Received
    : undefined extends (Returned extends { readonly data: infer Sure } ? Sure : undefined)
      ? Jsonified<Exclude<Data, undefined>> | Received
      : Jsonified<Data>
  : Received

/** What passes along an edge, where the node that it leaves received this. */
type Along<Nodes, E extends Edges, I extends Schema | undefined, One, Seen = never> = One extends readonly [
  infer From extends keyof Nodes,
  ...unknown[],
]
  ? DataOf<Leading<Returns<Nodes[From]>, E, One>, Received<Nodes, E, I, From, Seen>>
  : GivenTo<I>

/** What a node receives: what its code says, or else what comes along the edges to it. */
type Received<Nodes, E extends Edges, I extends Schema | undefined, Name extends keyof Nodes, Seen = never> =
  unknown extends Takes<Nodes[Name]>
    ? Name extends Seen
      ? never
      : Arriving<Nodes, E, I, Name, Seen | Name>
    : Takes<Nodes[Name]>

type Arriving<Nodes, E extends Edges, I extends Schema | undefined, Name extends keyof Nodes, Seen> =
  | (ForkTo<E, Name> extends never
      ? Along<Nodes, E, I, Extract<E[number], readonly [unknown, Name, ...unknown[]] | HeadedBy<E, Name>>, Seen>
      : Met<Nodes, E, I, ForkTo<E, Name>, Name, Seen>)
  | (Name extends Routed<Nodes> ? NodeFailure : never)

/** The forks one of whose branches begins with a node. */
type HeadedBy<E extends Edges, Name> = E[number] extends infer One
  ? One extends readonly [unknown, readonly (infer Heads)[], unknown]
    ? Name extends Heads
      ? One
      : never
    : never
  : never

/** The fork that a node joins. */
type ForkTo<E extends Edges, Join> = Extract<E[number], readonly [unknown, unknown, { readonly join: Join }]>

/** The nodes to which errors are routed. */
type Routed<Nodes, Name extends keyof Nodes = keyof Nodes> = Nodes[Name] extends infer N
  ? N extends { readonly onError: { readonly route: infer To } }
    ? To
    : never
  : never

// Forks and joins.

/** What a join receives: what each branch gives, by the branch's head. */
type Met<Nodes, E extends Edges, I extends Schema | undefined, Fork, Join, Seen = never> = Fork extends readonly [
  unknown,
  readonly (infer Heads)[],
  unknown,
]
  ? { [Head in Heads & string]: Branch<Nodes, E, I, Reached<Nodes, E, Head, Join>, Join, Seen> }
  : never

/** What the nodes of a branch give to the join. */
type Branch<Nodes, E extends Edges, I extends Schema | undefined, Members, Join, Seen> = Along<
  Nodes,
  E,
  I,
  Extract<E[number], readonly [Members, Join, ...unknown[]]>,
  Seen
>

/** The nodes that a branch may run through on its way to the join. */
type Reached<Nodes, E extends Edges, Members, Join> =
  Exclude<
    Targets<EdgeFrom<E, Members>> | Routed<Nodes, Members & keyof Nodes>,
    Members | Join | 'end'
  > extends infer More
    ? [More] extends [never]
      ? Members
      : Reached<Nodes, E, Members | More, Join>
    : never

type Targets<One> = One extends readonly [unknown, infer To, ...unknown[]]
  ? To extends readonly (infer Heads)[]
    ? Heads
    : To
  : never

/** What a run of a workflow gives; where it may end with another one, that is known when it runs. */
export type OutputFrom<Nodes, E extends Edges> = [
  { [Name in keyof Nodes]: Elsewhere<Returns<Nodes[Name]>> }[keyof Nodes],
] extends [never]
  ? OutputAlong<Nodes, E, Extract<E[number], readonly [unknown, 'end', ...unknown[]]>>
  : unknown

/** What a run gives that ends by an edge: a last node without data gives nothing, and never what it had received. */
type OutputAlong<Nodes, E extends Edges, One> = One extends readonly [infer From extends keyof Nodes, ...unknown[]]
  ? DataOf<Leading<Returns<Nodes[From]>, E, One>, undefined> extends infer Data
    ? [ContinuedAlong<Nodes, One>] extends [Data]
      ? Data
      : Data | ContinuedAlong<Nodes, One>
    : never
  : never

// The checks.

/** What is wrong, in the compiler's words. */
interface EdgeProblem<Text> {
  readonly problem: Text
}

/**
 * The edges, with a problem where something does not fit: what passes along an edge, or the node that it leaves. Nodes of any name and edges of any number are
 * not checked: so the compiler sees them while there is code whose context it has yet to tell, and where a name is wrong, which it tells by itself.
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

type ProblemOf<Nodes, E extends Edges, I extends Schema | undefined, One> = One extends readonly [
  infer From extends string,
  ...unknown[],
]
  ?
      | (From extends keyof Nodes
          ? BadParams<Nodes, From> | BadPolicy<Nodes, E, I, From> | BadWhen<Nodes, From, One> | NoWay<Nodes, E, From>
          : never)
      | BadTarget<Nodes, E, I, One, From, Targets<One>>
      | BadJoin<Nodes, E, I, One>
  : never

type BadWhen<Nodes, From extends keyof Nodes & string, One> =
  OptionsOf<One> extends { readonly when: infer When extends string }
    ? When extends Conditions<Returns<Nodes[From]>>
      ? never
      : `${From} never returns the condition ${When}`
    : never

/** The conditions of a node that it has no edge for; where it may return any text, nobody can tell. */
type NoWay<Nodes, E extends Edges, From extends keyof Nodes & string> = [Always<EdgeFrom<E, From>>] extends [never]
  ? Exclude<Conditions<Staying<Returns<Nodes[From]>>>, Settled<E, From>> extends infer Condition extends string
    ? Condition extends Condition
      ? string extends Condition
        ? never
        : `${From} may return the condition ${Condition}, and no edge is for it: add one with when, or with otherwise`
      : never
    : never
  : never

/** Those of a node's edges that are not of one condition. */
type Always<One> = One extends unknown ? ([WhenOf<One>] extends [never] ? One : never) : never

/** Those of a node's results that do not end its workflow. */
type Staying<Returned> = Returned extends { readonly transitionTo: string } ? never : Returned

type BadTarget<
  Nodes,
  E extends Edges,
  I extends Schema | undefined,
  One,
  From extends string,
  To,
> = To extends keyof Nodes
  ? To extends Joins<E>
    ? never
    : [Along<Nodes, E, I, One> | ContinuedAlong<Nodes, One>] extends [Takes<Nodes[To]>]
      ? never
      : [Takes<Nodes[To]>] extends [never]
        ? `${To & string} does not say what it takes: give its context a type, as in NodeContext<string>`
        : `${To & string} does not take what ${From} ${From extends 'start' ? 'gives' : 'returns'}`
  : never

type BadJoin<Nodes, E extends Edges, I extends Schema | undefined, One> =
  OptionsOf<One> extends { readonly join: infer Join extends keyof Nodes & string }
    ? [Met<Nodes, E, I, One, Join>] extends [Takes<Nodes[Join]>]
      ? never
      : `${Join} does not take what its branches give`
    : never

type Joins<E extends Edges> = JoinOf<E[number]>

type JoinOf<One> = One extends readonly [unknown, unknown, { readonly join: infer Join }] ? Join : never

type BadParams<Nodes, Name extends keyof Nodes & string> = [GivenParams<Nodes[Name]>] extends [ParamsOf<Nodes[Name]>]
  ? never
  : [Written<GivenParams<Nodes[Name]>>] extends [ParamsOf<Nodes[Name]>]
    ? never
    : `the params of ${Name} are not what its code takes`

type BadPolicy<
  Nodes,
  E extends Edges,
  I extends Schema | undefined,
  Name extends keyof Nodes & string,
> = Nodes[Name] extends { readonly onError: { readonly route: infer To extends string } }
  ? To extends keyof Nodes
    ? NodeFailure extends Takes<Nodes[To]>
      ? never
      : `${To}, to which errors of ${Name} are routed, does not take a NodeFailure`
    : `errors of ${Name} are routed to ${To}, which does not exist`
  : [Continued<Nodes[Name]>] extends [DataOf<Returns<Nodes[Name]>, Received<Nodes, E, I, Name>>]
    ? never
    : `${Name} continues after an error with what is not its data`
