// Validates the edges of a workflow against its nodes when the workflow is defined.

import type { Edge } from './edge.ts'
import type { Node } from './node.ts'
import { fail } from './workflow-checks.ts'

type Nodes = ReadonlyMap<string, Node>

/**
 * `path` names the workflow in error messages.
 * @throws {ValidationError} if the edges do not fit the nodes.
 */
export function checkWiring(path: string, nodes: Nodes, edges: readonly Edge[]): void {
  for (const edge of edges) checkEnds(path, nodes, edge)
  checkStart(path, edges)
  for (const node of nodes.values()) checkNode(path, nodes, edges, node)
  checkReachable(path, nodes, edges)
  for (const edge of edges) if (edge.join !== undefined) checkFork(path, nodes, edges, edge as Fork)
}

/** An edge for an error message. */
const nameOf = (edge: Edge): string => `edge ${edge.from} -> ${targetsOf(edge)}`

const targetsOf = ({ to, join }: Edge): string => (join === undefined ? to.join() : `[${to.join(', ')}]`)

interface Fork extends Edge {
  readonly join: string
}

function checkEnds(path: string, nodes: Nodes, edge: Edge): void {
  const { from, to, join, max } = edge
  const here = `${path}: ${nameOf(edge)}`
  if (from === 'end') fail(here, "an edge cannot start at 'end': start it at a node")
  if (from !== 'start' && !nodes.has(from)) fail(here, `there is no node ${from}: add it to nodes, or remove the edge`)
  for (const target of to) {
    if (target === 'start') fail(here, "an edge cannot lead to 'start': lead it to the first node")
    if (target === 'end' && join === undefined) continue
    if (!nodes.has(target)) fail(here, `there is no node ${target}: add it to nodes, or change the edge`)
  }
  if (max !== undefined && to[0] === 'end') fail(here, "max: an edge to 'end' is taken once: remove max")
  if (join === undefined) return
  if (!nodes.has(join)) fail(here, `there is no node ${join} to join at: add it to nodes`)
  if (to.includes(join)) fail(here, `${join} is both a branch and the join: use another node as the join`)
}

function checkStart(path: string, edges: readonly Edge[]): void {
  const [first, second] = edges.filter(({ from }) => from === 'start')
  if (first === undefined) fail(path, `edges: no edge starts at 'start': add ['start', 'node'] for the first node`)
  if (second !== undefined) {
    fail(
      path,
      `edges: two edges start at 'start', to ${targetsOf(first)} and to ${targetsOf(second)}: keep one, a run begins with one node`,
    )
  }
  const here = `${path}: ${nameOf(first)}`
  if (first.join !== undefined) fail(here, 'a run begins with one node: fork after it')
  if (first.to[0] === 'end') fail(here, 'a run begins with a node: lead the edge to one')
  if (first.when !== undefined || first.otherwise || first.max !== undefined)
    fail(here, "an edge from 'start' has no options: remove when, otherwise and max")
}

/** Checks one node: it needs an outgoing edge, and at most one per condition. */
function checkNode(path: string, nodes: Nodes, edges: readonly Edge[], { id, agent, onError }: Node): void {
  const here = `${path}: node ${id}`
  const outgoing = edges.filter(({ from }) => from === id)
  const [unconditional, second] = outgoing.filter(({ when }) => when === undefined)
  const conditions = outgoing.flatMap(({ when }) => (when === undefined ? [] : [when]))
  if (outgoing.length === 0) fail(here, `it has no outgoing edge: add ['${id}', 'end']`)
  if (unconditional && second) {
    fail(
      here,
      `there are two edges without a condition, to ${targetsOf(unconditional)} and to ${targetsOf(second)}: add conditions, or fork, as in ['${id}', ['${unconditional.to[0]}', '${second.to[0]}'], { join: 'node' }]`,
    )
  }
  const duplicate = conditions.find((when, index) => conditions.indexOf(when) < index)
  if (duplicate !== undefined)
    fail(here, `there are two edges for the condition ${JSON.stringify(duplicate)}: keep one`)
  if (unconditional && !unconditional.otherwise && conditions.length > 0) {
    fail(
      here,
      `its edge to ${targetsOf(unconditional)} has no condition, but other edges have one: add { otherwise: true } to it`,
    )
  }
  if (agent && conditions.length > 0) {
    fail(
      here,
      `an agent returns no condition, so the edge for ${JSON.stringify(conditions[0])} is never taken: decide in a node after it`,
    )
  }
  if (onError.mode === 'continue' && unconditional === undefined) {
    fail(
      here,
      'onError: it continues without a condition, but every edge has one: add an edge with { otherwise: true }',
    )
  }
  if (onError.mode !== 'route') return
  if (!nodes.has(onError.to)) fail(here, `onError: there is no node ${onError.to} to route to: add it to nodes`)
  if (onError.to === id) fail(here, 'onError: it routes to itself: use retry instead')
}

/** A connection of two nodes: an edge, or an error route. */
interface Link {
  readonly from: string
  readonly to: string
  readonly edge: Edge | undefined
}

function linksOf(nodes: Nodes, edges: readonly Edge[]): readonly Link[] {
  const edgeLinks = edges.flatMap(edge => edge.to.map(to => ({ from: edge.from, to, edge })))
  const errorRoutes = [...nodes.values()].flatMap(({ id, onError }) =>
    onError.mode === 'route' ? [{ from: id, to: onError.to, edge: undefined }] : [],
  )
  return [...edgeLinks, ...errorRoutes]
}

/** Reachable nodes, each with the node whose error route led there, if any. Does not go beyond `until`. */
function reachableFrom(links: readonly Link[], first: string, until?: string): ReadonlyMap<string, string | undefined> {
  const reached = new Map<string, string | undefined>([[first, undefined]])
  // Iterating a map includes entries that are added meanwhile.
  for (const [node, failedNode] of reached) {
    for (const { from, to, edge } of links) {
      if (from === node && to !== until && !reached.has(to)) reached.set(to, edge ? failedNode : node)
    }
  }
  return reached
}

/** For each node, the first nodes of the branches that contain it, outermost first. */
export function branchesOf(nodes: Nodes, edges: readonly Edge[]): ReadonlyMap<string, readonly string[]> {
  const links = linksOf(nodes, edges)
  const forks = edges.filter(({ join }) => join !== undefined)
  const branches = forks.flatMap(({ to, join }) => to.map(head => ({ head, reach: reachableFrom(links, head, join) })))
  // A nested branch is smaller than the branch around it.
  const outermost = branches.sort((a, b) => b.reach.size - a.reach.size)
  const headsOf = (id: string) => outermost.filter(({ reach }) => reach.has(id)).map(({ head }) => head)
  return new Map([...nodes.keys()].map(id => [id, headsOf(id)]))
}

function checkReachable(path: string, nodes: Nodes, edges: readonly Edge[]): void {
  const reached = reachableFrom(linksOf(nodes, edges), 'start')
  for (const id of nodes.keys()) {
    if (!reached.has(id)) fail(`${path}: node ${id}`, 'it is unreachable: add an edge to it, or remove it')
  }
}

/** Checks a fork: its branches are disjoint, entered only at their first node and left only at the join. */
function checkFork(path: string, nodes: Nodes, edges: readonly Edge[], fork: Fork): void {
  const { from, to, join } = fork
  const here = `${path}: ${nameOf(fork)}`
  const links = linksOf(nodes, edges)
  const ownerOf = new Map<string, string>()
  for (const head of to) {
    const branch = reachableFrom(links, head, join)
    for (const [node, failedNode] of branch) {
      const other = ownerOf.get(node)
      ownerOf.set(node, head)
      const leavesBranch = node === 'end' || node === from
      if (!leavesBranch && other === undefined) continue
      const route = failedNode === undefined ? '' : `, by the error route of ${failedNode}, which leaves the branch`
      if (node === 'end')
        fail(here, `the branch ${head} reaches 'end' before the join ${join}${route}: lead it to ${join}`)
      if (leavesBranch)
        fail(here, `the branch ${head} leads back to ${from} before the join ${join}${route}: lead it to ${join}`)
      fail(
        here,
        `the branches ${other} and ${head} share the node ${node}${route}: each needs nodes of its own until ${join}`,
      )
    }
    if (!edges.some(edge => edge.to.includes(join) && edge.join === undefined && branch.has(edge.from))) {
      fail(here, `the branch ${head} never reaches the join ${join}: add an edge to it`)
    }
  }
  for (const link of links) {
    const owner = ownerOf.get(link.to)
    const isInside = ownerOf.has(link.from)
    if (link.to === join && link.edge === undefined) {
      fail(
        here,
        `errors of ${link.from} are routed to the join ${join}, which receives the results of the branches: route them to a node before it`,
      )
    }
    if (link.to === join && !isInside) {
      fail(
        here,
        `the join ${join} is also reached from ${link.from}, which is in none of its branches: lead that edge to another node`,
      )
    }
    if (owner === undefined || isInside || link.edge === fork) continue
    fail(
      here,
      `${link.to}, in the branch ${owner}, is also reached from ${link.from}: a branch is entered only at its first node and left only at its join`,
    )
  }
}
