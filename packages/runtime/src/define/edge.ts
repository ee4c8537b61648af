import { checkEdge } from './workflow-checks.ts'

/** Options of an edge. */
export interface EdgeOptions {
  /** Takes the edge if the node returns this condition. @default the edge is taken without a condition */
  readonly when?: string
  /** Takes the edge if the node returns no condition, or one that no other edge has. @default false */
  readonly otherwise?: true
  /** Maximum number of times that the edge may be taken in one pass through the workflow. @default no limit */
  readonly max?: number
}

/** Options of a fork: when it is taken, and the node that joins its branches. */
export interface ForkEdgeOptions<Name extends string = string> {
  /** The node that gets the results of all branches. */
  readonly join: Name
  /** Takes the fork if the node returns this condition. @default the fork is taken without a condition */
  readonly when?: string
  /** Takes the fork if the node returns no condition, or one that no other edge has. @default false */
  readonly otherwise?: true
}

/** An edge between two nodes, or a fork to several. */
export type EdgeDefinition<Name extends string = string> =
  | readonly [from: 'start', to: Name]
  | readonly [from: Name, to: Name | 'end', options?: EdgeOptions]
  | readonly [from: Name, to: readonly Name[], options: ForkEdgeOptions<Name>]

/** A normalized edge. */
export interface Edge {
  /** Unique in its workflow and stable: it depends only on the definition. */
  readonly key: string
  readonly from: string
  /** One target, or the first nodes of the branches of a fork. */
  readonly to: readonly string[]
  readonly join: string | undefined
  readonly when: string | undefined
  readonly otherwise: boolean
  readonly max: number | undefined
}

/**
 * Validates an edge and adds the defaults. `path` names the workflow and the edge in error messages.
 * @throws {ValidationError} if the edge is not valid.
 */
export function edgeOf(path: string, definition: EdgeDefinition): Edge {
  checkEdge(path, definition)
  const [from, target, options = {}] = definition
  const { join, when, otherwise = false, max } = options as EdgeOptions & Partial<ForkEdgeOptions>
  const to = typeof target === 'string' ? [target] : target
  const label = otherwise ? '?*' : when === undefined ? '' : `?${JSON.stringify(when)}`
  return { key: `${from}->${to.join('+')}${label}`, from, to, join, when, otherwise, max }
}
