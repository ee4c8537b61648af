// What nodes and edges must be together, so that every run finds its way: told where the workflow is defined.

import type { Edge } from './edge.ts'
import type { Node } from './node.ts'
import { fail } from './workflow-checks.ts'

type Nodes = ReadonlyMap<string, Node>

/** Throws where the edges of a workflow are not what its nodes need; `place` names the workflow. */
export function checkWiring(place: string, nodes: Nodes, edges: readonly Edge[]): void {
  for (const edge of edges) checkEnds(place, nodes, edge)
  checkStart(place, edges)
  for (const node of nodes.values()) checkNode(place, nodes, edges, node)
  checkReach(place, nodes, edges)
  for (const edge of edges) if (edge.join !== undefined) checkFork(place, nodes, edges, edge as Fork)
}

/** An edge as people write it. */
const nameOf = (edge: Edge): string => `edge ${edge.from} -> ${targetsOf(edge)}`

const targetsOf = ({ to, join }: Edge): string => (join === undefined ? to.join() : `[${to.join(', ')}]`)

interface Fork extends Edge {
  readonly join: string
}

function checkEnds(place: string, nodes: Nodes, edge: Edge): void {
  const { from, to, join, max } = edge
  const here = `${place}: ${nameOf(edge)}`
  if (from === 'end') fail(here, "nothing comes after 'end': lead it from a node")
  if (from !== 'start' && !nodes.has(from))
    fail(here, `there is no node ${from}: add it to nodes, or take the edge away`)
  for (const target of to) {
    if (target === 'start') fail(here, "no edge leads back to 'start': lead it to the first node")
    if (target === 'end' && join === undefined) continue
    if (!nodes.has(target)) fail(here, `there is no node ${target}: add it to nodes, or lead the edge elsewhere`)
  }
  if (max !== undefined && to[0] === 'end') fail(here, "max: an edge to 'end' is taken once: take max away")
  if (join === undefined) return
  if (!nodes.has(join)) fail(here, `there is no node ${join} to join at: add it to nodes`)
  if (to.includes(join)) fail(here, `${join} is a branch and the join: give the join a node of its own`)
}

function checkStart(place: string, edges: readonly Edge[]): void {
  const [first, second] = edges.filter(({ from }) => from === 'start')
  if (first === undefined) fail(place, `edges: there is none from 'start': add ['start', 'node'] for the first node`)
  if (second !== undefined) {
    fail(
      place,
      `edges: there are two from 'start', to ${targetsOf(first)} and to ${targetsOf(second)}: a run begins with one node`,
    )
  }
  const here = `${place}: ${nameOf(first)}`
  if (first.join !== undefined) fail(here, 'a run begins with one node: fork after it')
  if (first.to[0] === 'end') fail(here, 'a run begins with a node')
  if (first.when !== undefined || first.otherwise || first.max !== undefined)
    fail(here, "an edge from 'start' has no options")
}

/** What one node needs: a way on, and no two for the same. */
function checkNode(place: string, nodes: Nodes, edges: readonly Edge[], { id, agent, onError }: Node): void {
  const here = `${place}: node ${id}`
  const own = edges.filter(({ from }) => from === id)
  const [open, second] = own.filter(({ when }) => when === undefined)
  const conditions = own.flatMap(({ when }) => (when === undefined ? [] : [when]))
  if (own.length === 0) fail(here, `it has no edge on: add ['${id}', 'end']`)
  if (open && second) {
    fail(
      here,
      `there are two edges without a condition, to ${targetsOf(open)} and to ${targetsOf(second)}: say when each is taken, or fork, as in ['${id}', ['${open.to[0]}', '${second.to[0]}'], { join: 'node' }]`,
    )
  }
  const twice = conditions.find((when, index) => conditions.indexOf(when) < index)
  if (twice !== undefined) fail(here, `there are two edges for the condition ${JSON.stringify(twice)}: keep one`)
  if (open && !open.otherwise && conditions.length > 0) {
    fail(here, `its edge to ${targetsOf(open)} stands beside edges with conditions: add { otherwise: true } to it`)
  }
  if (agent && conditions.length > 0) {
    fail(
      here,
      `an agent returns no condition, and the edge for ${JSON.stringify(conditions[0])} is never taken: decide in a node after it`,
    )
  }
  if (onError.mode === 'continue' && open === undefined) {
    fail(
      here,
      'onError: it continues without a condition, and each of its edges is for one: add an edge with { otherwise: true }',
    )
  }
  if (onError.mode !== 'route') return
  if (!nodes.has(onError.to)) fail(here, `onError: there is no node ${onError.to} to route to: add it to nodes`)
  if (onError.to === id) fail(here, 'onError: it routes to itself: say how often it runs again by retry')
}

/** From where to where: along an edge, or along the route of an error. */
interface Way {
  readonly from: string
  readonly to: string
  readonly edge: Edge | undefined
}

function waysOf(nodes: Nodes, edges: readonly Edge[]): readonly Way[] {
  const along = edges.flatMap(edge => edge.to.map(to => ({ from: edge.from, to, edge })))
  const routes = [...nodes.values()].flatMap(({ id, onError }) =>
    onError.mode === 'route' ? [{ from: id, to: onError.to, edge: undefined }] : [],
  )
  return [...along, ...routes]
}

/** What can be reached, each by the node whose error led out there, if one did; what comes after `until` does not count. */
function reachOf(ways: readonly Way[], first: string, until?: string): ReadonlyMap<string, string | undefined> {
  const reached = new Map<string, string | undefined>([[first, undefined]])
  // A map goes on with what is added to it on the way.
  for (const [at, failed] of reached) {
    for (const { from, to, edge } of ways) {
      if (from === at && to !== until && !reached.has(to)) reached.set(to, edge ? failed : at)
    }
  }
  return reached
}

/** By node: the heads of the branches that it is in, the outermost first. */
export function branchesOf(nodes: Nodes, edges: readonly Edge[]): ReadonlyMap<string, readonly string[]> {
  const ways = waysOf(nodes, edges)
  const forks = edges.filter(({ join }) => join !== undefined)
  const branches = forks.flatMap(({ to, join }) => to.map(head => ({ head, reach: reachOf(ways, head, join) })))
  // One that lies in another is the smaller.
  const outermost = branches.sort((a, b) => b.reach.size - a.reach.size)
  const headsOf = (id: string) => outermost.filter(({ reach }) => reach.has(id)).map(({ head }) => head)
  return new Map([...nodes.keys()].map(id => [id, headsOf(id)]))
}

function checkReach(place: string, nodes: Nodes, edges: readonly Edge[]): void {
  const reached = reachOf(waysOf(nodes, edges), 'start')
  for (const id of nodes.keys()) {
    if (!reached.has(id)) fail(`${place}: node ${id}`, 'no run can come to it: lead an edge to it, or take it away')
  }
}

/** What a fork needs: branches that are apart, entered by their heads alone and left by the join alone. */
function checkFork(place: string, nodes: Nodes, edges: readonly Edge[], fork: Fork): void {
  const { from, to, join } = fork
  const here = `${place}: ${nameOf(fork)}`
  const ways = waysOf(nodes, edges)
  const ownerOf = new Map<string, string>()
  for (const head of to) {
    const branch = reachOf(ways, head, join)
    for (const [node, failed] of branch) {
      const other = ownerOf.get(node)
      ownerOf.set(node, head)
      const isOut = node === 'end' || node === from
      if (!isOut && other === undefined) continue
      const out = failed === undefined ? '' : `, by the route of errors of ${failed}, which leads out of the branch`
      if (node === 'end')
        fail(here, `the branch ${head} reaches 'end' before the join ${join}${out}: lead it to ${join}`)
      if (isOut)
        fail(here, `the branch ${head} leads back to ${from} before the join ${join}${out}: lead it to ${join}`)
      fail(
        here,
        `the branches ${other} and ${head} share the node ${node}${out}: each needs nodes of its own until ${join}`,
      )
    }
    if (!edges.some(edge => edge.to.includes(join) && edge.join === undefined && branch.has(edge.from))) {
      fail(here, `the branch ${head} never comes to the join ${join}: add an edge to it`)
    }
  }
  for (const way of ways) {
    const owner = ownerOf.get(way.to)
    const isInside = ownerOf.has(way.from)
    if (way.to === join && way.edge === undefined) {
      fail(
        here,
        `errors of ${way.from} are routed to the join ${join}, which takes what the branches give: route them to a node before it`,
      )
    }
    if (way.to === join && !isInside) {
      fail(
        here,
        `the join ${join} is also reached from ${way.from}, which is in none of its branches: give that a node of its own`,
      )
    }
    if (owner === undefined || isInside || way.edge === fork) continue
    fail(
      here,
      `${way.to}, in the branch ${owner}, is also reached from ${way.from}: a branch is entered by its head and left by its join alone`,
    )
  }
}
