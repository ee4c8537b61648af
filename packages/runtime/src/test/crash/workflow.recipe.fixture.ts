// Random workflows as plain data, fully determined by a seed: sequences, conditions, loops, nested forks, retries,
// error policies and transitions. Their nodes use every hook, with and without ids, in sequence and in parallel.

import { Random } from '../../../../../scripts/faults/random.ts'
import type { EdgeDefinition } from '../../define/edge.ts'

/** The request to a model. */
type ModelRequestKind = 'text' | 'broken' | 'hidden' | 'object' | 'tools' | 'approval' | 'denial' | 'person'

/** The request to a person. `strict` rejects the first response, and `late` is never answered in time. */
type QuestionKind = 'text' | 'strict' | 'choice' | 'multi-choice' | 'form' | 'late'

/** One operation of a node. */
export type Op =
  /** A side effect. It may fail always, or only the first time. */
  | { readonly op: 'step'; readonly key: string; readonly fails?: 'always' | 'once' }
  | { readonly op: 'reason'; readonly ask: ModelRequestKind; readonly id?: string }
  | { readonly op: 'question'; readonly ask: QuestionKind; readonly id?: string }
  /** Updates a structured object. */
  | { readonly op: 'show'; readonly stream: string; readonly isComplete: boolean }
  /** Sets a value of the run. A shared value is only incremented, because parallel nodes write it too. */
  | { readonly op: 'state'; readonly key: string; readonly isShared: boolean }
  /** Increments a value of the node, which is kept when the node runs again. */
  | { readonly op: 'count' }
  | { readonly op: 'context' }
  /** Parallel sequences of operations. */
  | { readonly op: 'together'; readonly strands: readonly (readonly Op[])[] }

/** How a node ends. */
type Exit =
  /** Takes its only edge. */
  | { readonly kind: 'on' }
  /** Takes one of two edges, by its input. */
  | { readonly kind: 'left or right' }
  /** Takes the edge back to itself, this many times. */
  | { readonly kind: 'again'; readonly times: number }
  /** Continues in another workflow. */
  | { readonly kind: 'transition'; readonly to: string }

export interface NodeRecipe {
  readonly ops: readonly Op[]
  readonly exit: Exit
  /** Whether other nodes may run at the same time. */
  readonly isParallel: boolean
  readonly shows?: 'message' | 'structured'
  /** For an agent node: its request. It does nothing else. */
  readonly agent?: ModelRequestKind
  readonly attempts?: number
  /** Result of a node that always fails at its end. */
  readonly fails?: 'continue' | { readonly route: string }
}

export interface Recipe {
  readonly id: string
  readonly nodes: { readonly [id: string]: NodeRecipe }
  readonly edges: readonly EdgeDefinition[]
}

const MODEL_REQUEST_KINDS: readonly ModelRequestKind[] = [
  'text',
  'broken',
  'hidden',
  'object',
  'tools',
  'approval',
  'denial',
  'person',
]
const QUESTION_KINDS: readonly QuestionKind[] = ['text', 'strict', 'choice', 'multi-choice', 'form', 'late']

/** An open end: its node and its condition. */
type Tail = readonly [from: string, options?: object]

interface RecipePart {
  readonly entry: string
  readonly tails: readonly Tail[]
}

/** Maximum depth of forks, and number of nodes after which only single nodes follow. */
const MAX_FORK_DEPTH = 2
const MAX_NODES = 4
const MAX_NODES_LARGE = 9

/** The workflows of a seed. A run starts with the first and transitions to the second if there is one. */
export function recipesOf(seed: number): readonly Recipe[] {
  const random = new Random(seed)
  const isTwo = random.below(3) === 0
  const second = isTwo ? [new RecipeBuilder(random, 'second').recipe(1)] : []
  return [new RecipeBuilder(random, 'first').recipe(random.between(1, 2), isTwo ? 'second' : undefined), ...second]
}

class RecipeBuilder {
  readonly #random: Random
  readonly #id: string
  readonly #nodes: Record<string, NodeRecipe> = {}
  readonly #edges: EdgeDefinition[] = []
  readonly #maxNodes: number
  #count = 0

  constructor(random: Random, id: string) {
    this.#random = random
    this.#maxNodes = random.below(6) === 0 ? MAX_NODES_LARGE : MAX_NODES
    this.#id = id
  }

  recipe(parts: number, next?: string): Recipe {
    const { entry, tails } = this.#sequence(parts, 0)
    this.#edges.unshift(['start', entry])
    const last = this.#node({ exit: next === undefined ? { kind: 'on' } : { kind: 'transition', to: next } }, 0)
    this.#connect(tails, last)
    this.#connect([[last]], 'end')
    return { id: this.#id, nodes: this.#nodes, edges: this.#edges }
  }

  #connect(tails: readonly Tail[], to: string): void {
    for (const [from, options] of tails) this.#edges.push(options ? [from, to, options] : [from, to])
  }

  /** A sequence of parts. */
  #sequence(count: number, depth: number): RecipePart {
    const first = this.#part(depth)
    let { tails } = first
    for (let more = 1; more < count; more++) {
      const next = this.#part(depth)
      this.#connect(tails, next.entry)
      tails = next.tails
    }
    return { entry: first.entry, tails }
  }

  #part(depth: number): RecipePart {
    const kind = this.#random.below(depth < MAX_FORK_DEPTH ? 8 : 6)
    if (kind < 2 || this.#count >= this.#maxNodes) return this.#single({ exit: { kind: 'on' } }, depth)
    if (kind === 2) return this.#choice(depth)
    if (kind === 3) return this.#loop(depth)
    if (kind === 4) return this.#single({ exit: { kind: 'on' }, attempts: 3 }, depth)
    if (kind === 5) return this.#failing(depth)
    return this.#fork(depth)
  }

  #single(options: Pick<NodeRecipe, 'exit' | 'attempts' | 'fails'>, depth: number): RecipePart {
    const entry = this.#node(options, depth)
    return { entry, tails: [[entry]] }
  }

  #choice(depth: number): RecipePart {
    const entry = this.#node({ exit: { kind: 'left or right' } }, depth)
    const [left, right] = [this.#sequence(1, depth), this.#sequence(1, depth)]
    this.#edges.push([entry, left.entry, { when: 'left' }], [entry, right.entry, { otherwise: true }])
    return { entry, tails: [...left.tails, ...right.tails] }
  }

  #loop(depth: number): RecipePart {
    const entry = this.#node({ exit: { kind: 'again', times: this.#random.between(1, 2) } }, depth)
    if (this.#random.below(2) === 0) this.#edges.push([entry, entry, { when: 'again', max: 3 }])
    else {
      const body = this.#single({ exit: { kind: 'on' } }, depth)
      this.#edges.push([entry, body.entry, { when: 'again', max: 3 }])
      this.#connect(body.tails, entry)
    }
    return { entry, tails: [[entry, { otherwise: true }]] }
  }

  #failing(depth: number): RecipePart {
    const attempts = this.#random.between(1, 2)
    if (this.#random.below(2) === 0) return this.#single({ exit: { kind: 'on' }, attempts, fails: 'continue' }, depth)
    const handler = this.#single({ exit: { kind: 'on' } }, depth)
    const route = { route: handler.entry }
    const { entry, tails } = this.#single({ exit: { kind: 'on' }, attempts, fails: route }, depth)
    return { entry, tails: [...tails, ...handler.tails] }
  }

  #fork(depth: number): RecipePart {
    const entry = this.#node({ exit: { kind: 'on' } }, depth)
    const heads = Array.from({ length: 2 }, () => this.#sequence(this.#random.between(1, 2), depth + 1))
    const join = this.#node({ exit: { kind: 'on' } }, depth)
    const branches = heads.map(head => head.entry)
    this.#edges.push([entry, branches, { join }])
    for (const { tails } of heads) this.#connect(tails, join)
    return { entry, tails: [[join]] }
  }

  #node(options: Pick<NodeRecipe, 'exit' | 'attempts' | 'fails'>, depth: number): string {
    const random = this.#random
    const id = `${this.#id[0]}${++this.#count}`
    const isParallel = depth > 0
    const kind = random.below(6)
    const isAgent = options.exit.kind === 'on' && options.attempts === undefined && random.below(6) === 0
    const nodeOps = Array.from({ length: random.between(0, 2) }, (_, index) =>
      this.#op(`${id}${index}`, id, isParallel),
    )
    // Failed work is repeated in the next attempt. The number of repetitions depends on crashes.
    const ops = options.attempts === undefined ? nodeOps : withoutLateQuestions(nodeOps)
    // Work that fails the first time is surrounded by work to keep and work to repeat.
    if (options.attempts && !options.fails) ops.splice(random.below(ops.length + 1), 0, stepThatFailsOnce(id))
    this.#nodes[id] = {
      // A failing node keeps the changes before its last commit, which depends on timing.
      ops: isAgent ? [] : options.fails === undefined ? ops : withoutWrites(ops),
      isParallel,
      ...options,
      ...(isAgent
        ? { agent: random.pick(['text', 'broken', 'tools'] as const) }
        : kind < 2 && { shows: kind === 0 ? 'message' : 'structured' }),
    }
    return id
  }

  #op(name: string, node: string, isParallel: boolean): Op {
    const random = this.#random
    switch (random.below(9)) {
      case 0:
        return random.below(3) > 0 ? this.#hook(name) : { op: 'step', key: name, fails: 'always' }
      case 1:
        return { op: 'state', key: random.pick([node, 'shared']), isShared: isParallel }
      case 2:
        return { op: 'show', stream: random.pick([node, name]), isComplete: random.below(3) === 0 }
      case 3:
        return random.below(2) === 0 ? { op: 'count' } : { op: 'context' }
      case 4:
      case 5:
        return { op: 'together', strands: this.#strands(name) }
      default:
        return this.#hook(name)
    }
  }

  /** An asynchronous hook, with an id if needed, often shared with another one of its node. */
  #hook(name: string, isNamed = this.#random.below(2) === 0): Op {
    const random = this.#random
    const id = isNamed ? { id: name } : {}
    switch (random.below(3)) {
      case 0:
        return { op: 'step', key: isNamed ? name : 'same' }
      case 1:
        return { op: 'reason', ask: random.pick(MODEL_REQUEST_KINDS), ...id }
      default:
        return { op: 'question', ask: random.pick(QUESTION_KINDS), ...id }
    }
  }

  #strands(name: string): readonly (readonly Op[])[] {
    const random = this.#random
    return Array.from({ length: 2 }, (_, strand) => {
      const strandName = `${name}.${strand}`
      const hooks = Array.from({ length: random.between(1, 2) }, (_, nth) => this.#hook(`${strandName}.${nth}`, true))
      const between: Op[] = random.below(2) === 0 ? [{ op: 'show', stream: strandName, isComplete: false }] : []
      return [...hooks.slice(0, 1), ...between, ...hooks.slice(1)]
    })
  }
}

const withoutLateQuestions = (ops: readonly Op[]): Op[] =>
  ops.map(op => {
    if (op.op === 'together') return { ...op, strands: op.strands.map(withoutLateQuestions) }
    return op.op === 'question' && op.ask === 'late' ? { ...op, ask: 'text' } : op
  })

const withoutWrites = (ops: readonly Op[]): readonly Op[] =>
  ops
    .filter(({ op }) => op !== 'show' && op !== 'state')
    .map(op => (op.op === 'together' ? { ...op, strands: op.strands.map(withoutWrites) } : op))

const stepThatFailsOnce = (id: string): Op => ({ op: 'step', key: `${id}once`, fails: 'once' })

/** All operations of a node, in sequence and in parallel. */
export const opsOf = (ops: readonly Op[]): readonly Op[] =>
  ops.flatMap(op => (op.op === 'together' ? op.strands.flatMap(opsOf) : [op]))
