import { checkEdge } from './workflow-checks.ts'

/** When an edge is taken. */
export interface EdgeOptions {
  /** The condition that the node returned. */
  readonly when?: string
  /** Where the node returned no condition, or one that no other edge is for. */
  readonly otherwise?: true
  /** How often the edge may be taken in one pass through the workflow. */
  readonly max?: number
}

/** When a fork is taken, and the node where its branches meet again. */
export interface ForkEdgeOptions<Name extends string = string> {
  readonly join: Name
  readonly when?: string
  readonly otherwise?: true
}

/** From where to where a run may go. */
export type EdgeDefinition<Name extends string = string> =
  | readonly [from: 'start', to: Name]
  | readonly [from: Name, to: Name | 'end', options?: EdgeOptions]
  | readonly [from: Name, to: readonly Name[], options: ForkEdgeOptions<Name>]

/** An edge as it is looked up. */
export interface Edge {
  /** Unique in its workflow, and the same whenever it is defined the same. */
  readonly key: string
  readonly from: string
  /** One target; of a fork, the heads of its branches. */
  readonly to: readonly string[]
  readonly join: string | undefined
  readonly when: string | undefined
  readonly otherwise: boolean
  readonly max: number | undefined
}

/** An edge with all that its definition left unsaid; throws where it is none. `place` names the workflow and the edge. */
export function edgeOf(place: string, definition: EdgeDefinition): Edge {
  checkEdge(place, definition)
  const [from, target, options = {}] = definition
  const { join, when, otherwise = false, max } = options as EdgeOptions & Partial<ForkEdgeOptions>
  const to = typeof target === 'string' ? [target] : target
  const label = otherwise ? '?*' : when === undefined ? '' : `?${JSON.stringify(when)}`
  return { key: `${from}->${to.join('+')}${label}`, from, to, join, when, otherwise, max }
}
