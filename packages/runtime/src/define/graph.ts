// Routing of a workflow. It only looks up edges, so the same node with the same condition always leads to the same
// target.

import { createHash } from 'node:crypto'
import type { Edge } from './edge.ts'

/** The next node or nodes after a node. */
export type Step =
  | { readonly to: 'end' }
  | {
      readonly to: string
      /** The key of the edge, to count how often it was taken. */
      readonly edge: string
      readonly max?: number
    }
  | { readonly fork: readonly string[]; readonly join: string; readonly edge: string }

/** The edges of a workflow. */
export class Graph {
  /** The first node of a run. */
  readonly first: string
  readonly edges: readonly Edge[]
  /** Identifies the set of edges. */
  readonly digest: string
  readonly #exits = new Map<string, { when: Map<string, Step>; otherwise: Step | undefined }>()

  constructor(edges: readonly Edge[]) {
    this.first = edges.find(({ from }) => from === 'start')?.to[0] ?? 'end'
    this.edges = edges
    const keys = edges.map(({ key, join = '' }) => `${key}:${join}`).sort()
    this.digest = createHash('sha256').update(keys.join('\n')).digest('base64url').slice(0, 12)
    for (const edge of edges) {
      const exits = this.#exits.get(edge.from) ?? { when: new Map(), otherwise: undefined }
      if (edge.when === undefined) exits.otherwise = stepOf(edge)
      else exits.when.set(edge.when, stepOf(edge))
      this.#exits.set(edge.from, exits)
    }
  }

  /** The step after a node that returned this condition or none; undefined if no edge matches. */
  next(node: string, condition: string | undefined): Step | undefined {
    const exits = this.#exits.get(node)
    return (condition === undefined ? undefined : exits?.when.get(condition)) ?? exits?.otherwise
  }
}

function stepOf({ key, to: [head = 'end', ...others], join, max }: Edge): Step {
  if (join !== undefined) return { fork: [head, ...others], join, edge: key }
  if (head === 'end') return { to: 'end' }
  return { to: head, edge: key, ...(max !== undefined && { max }) }
}
