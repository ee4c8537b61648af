// Workflows by chance, as plain data: a seed says all of one. Sequences, conditions, loops, forks within forks, retries, error policies and transitions, whose nodes use
// every hook, with and without ids, one after the other and side by side.

import { Random } from '../../../../scripts/faults/random.ts'
import type { EdgeDefinition } from '../define/edge.ts'

/** What a model is asked for. */
type Asking = 'text' | 'broken' | 'hidden' | 'object' | 'tools' | 'approval' | 'denial' | 'person'

/** What a person is asked for; `strict` refuses the first answer, and `late` is one that nobody answers in time. */
type Question = 'text' | 'strict' | 'choice' | 'multi-choice' | 'form' | 'late'

/** One thing that a node does. */
export type Op =
  /** A side effect; one that fails does so whenever it is done, or the first time that anybody does it. */
  | { readonly op: 'step'; readonly key: string; readonly fails?: 'always' | 'once' }
  | { readonly op: 'reason'; readonly ask: Asking; readonly id?: string }
  | { readonly op: 'question'; readonly ask: Question; readonly id?: string }
  /** Shows updates of an object of its own. */
  | { readonly op: 'show'; readonly stream: string; readonly isWhole: boolean }
  /** A value of the run: one that others write too is only added to where these may do so meanwhile. */
  | { readonly op: 'state'; readonly key: string; readonly isShared: boolean }
  /** A value of the node, over its repeats. */
  | { readonly op: 'count' }
  | { readonly op: 'context' }
  /** Strands side by side, each one thing after the other. */
  | { readonly op: 'together'; readonly strands: readonly (readonly Op[])[] }

/** Where a node goes on. */
type Exit =
  | { readonly kind: 'on' }
  /** By what it was given. */
  | { readonly kind: 'left or right' }
  /** Back, so many times. */
  | { readonly kind: 'again'; readonly times: number }
  | { readonly kind: 'transition'; readonly to: string }

export interface NodeRecipe {
  readonly ops: readonly Op[]
  readonly exit: Exit
  /** Whether others may be at work at the same time. */
  readonly isBeside: boolean
  readonly shows?: 'message' | 'structured'
  /** Of a node that is an agent: what it is asked for, and nothing else is done. */
  readonly agent?: Asking
  readonly attempts?: number
  /** What comes of it where it always fails, at its end. */
  readonly fails?: 'continue' | { readonly route: string }
}

export interface Recipe {
  readonly id: string
  readonly nodes: { readonly [id: string]: NodeRecipe }
  readonly edges: readonly EdgeDefinition[]
}

const ASKINGS: readonly Asking[] = ['text', 'broken', 'hidden', 'object', 'tools', 'approval', 'denial', 'person']
const QUESTIONS: readonly Question[] = ['text', 'strict', 'choice', 'multi-choice', 'form', 'late']

/** An end that leads on: from which node, and when. */
type Tail = readonly [from: string, options?: object]

interface Piece {
  readonly entry: string
  readonly tails: readonly Tail[]
}

/** How deep forks may lie in each other, and from how many nodes on there is nothing but single ones; now and then from more. */
const DEPTH = 2
const MANY = 4
const MORE = 9

/** The workflows of a seed: a run begins with the first, and goes on with the second if there is one. */
export function recipesOf(seed: number): readonly Recipe[] {
  const random = new Random(seed)
  const isTwo = random.below(3) === 0
  const second = isTwo ? [new Cook(random, 'second').recipe(1)] : []
  return [new Cook(random, 'first').recipe(random.between(1, 2), isTwo ? 'second' : undefined), ...second]
}

class Cook {
  readonly #random: Random
  readonly #id: string
  readonly #nodes: Record<string, NodeRecipe> = {}
  readonly #edges: EdgeDefinition[] = []
  readonly #many: number
  #count = 0

  constructor(random: Random, id: string) {
    this.#random = random
    this.#many = random.below(6) === 0 ? MORE : MANY
    this.#id = id
  }

  recipe(pieces: number, next?: string): Recipe {
    const { entry, tails } = this.#row(pieces, 0)
    this.#edges.unshift(['start', entry])
    const last = this.#node({ exit: next === undefined ? { kind: 'on' } : { kind: 'transition', to: next } }, 0)
    this.#lead(tails, last)
    this.#lead([[last]], 'end')
    return { id: this.#id, nodes: this.#nodes, edges: this.#edges }
  }

  #lead(tails: readonly Tail[], to: string): void {
    for (const [from, options] of tails) this.#edges.push(options ? [from, to, options] : [from, to])
  }

  /** Pieces one after the other. */
  #row(count: number, depth: number): Piece {
    const first = this.#piece(depth)
    let { tails } = first
    for (let more = 1; more < count; more++) {
      const next = this.#piece(depth)
      this.#lead(tails, next.entry)
      tails = next.tails
    }
    return { entry: first.entry, tails }
  }

  #piece(depth: number): Piece {
    const kind = this.#random.below(depth < DEPTH ? 8 : 6)
    if (kind < 2 || this.#count >= this.#many) return this.#alone({ exit: { kind: 'on' } }, depth)
    if (kind === 2) return this.#choice(depth)
    if (kind === 3) return this.#loop(depth)
    if (kind === 4) return this.#alone({ exit: { kind: 'on' }, attempts: 3 }, depth)
    if (kind === 5) return this.#failing(depth)
    return this.#fork(depth)
  }

  #alone(about: Pick<NodeRecipe, 'exit' | 'attempts' | 'fails'>, depth: number): Piece {
    const entry = this.#node(about, depth)
    return { entry, tails: [[entry]] }
  }

  #choice(depth: number): Piece {
    const entry = this.#node({ exit: { kind: 'left or right' } }, depth)
    const [left, right] = [this.#row(1, depth), this.#row(1, depth)]
    this.#edges.push([entry, left.entry, { when: 'left' }], [entry, right.entry, { otherwise: true }])
    return { entry, tails: [...left.tails, ...right.tails] }
  }

  #loop(depth: number): Piece {
    const entry = this.#node({ exit: { kind: 'again', times: this.#random.between(1, 2) } }, depth)
    if (this.#random.below(2) === 0) this.#edges.push([entry, entry, { when: 'again', max: 3 }])
    else {
      const body = this.#alone({ exit: { kind: 'on' } }, depth)
      this.#edges.push([entry, body.entry, { when: 'again', max: 3 }])
      this.#lead(body.tails, entry)
    }
    return { entry, tails: [[entry, { otherwise: true }]] }
  }

  #failing(depth: number): Piece {
    const attempts = this.#random.between(1, 2)
    if (this.#random.below(2) === 0) return this.#alone({ exit: { kind: 'on' }, attempts, fails: 'continue' }, depth)
    const handler = this.#alone({ exit: { kind: 'on' } }, depth)
    const route = { route: handler.entry }
    const { entry, tails } = this.#alone({ exit: { kind: 'on' }, attempts, fails: route }, depth)
    return { entry, tails: [...tails, ...handler.tails] }
  }

  #fork(depth: number): Piece {
    const entry = this.#node({ exit: { kind: 'on' } }, depth)
    const heads = Array.from({ length: 2 }, () => this.#row(this.#random.between(1, 2), depth + 1))
    const join = this.#node({ exit: { kind: 'on' } }, depth)
    const branches = heads.map(head => head.entry)
    this.#edges.push([entry, branches, { join }])
    for (const { tails } of heads) this.#lead(tails, join)
    return { entry, tails: [[join]] }
  }

  #node(about: Pick<NodeRecipe, 'exit' | 'attempts' | 'fails'>, depth: number): string {
    const random = this.#random
    const id = `${this.#id[0]}${++this.#count}`
    const isBeside = depth > 0
    const kind = random.below(6)
    const isAgent = about.exit.kind === 'on' && about.attempts === undefined && random.below(6) === 0
    const own = Array.from({ length: random.between(0, 2) }, (_, index) => this.#op(`${id}${index}`, id, isBeside))
    // What was in vain in one try is done again in the next: how often, depends on who dies.
    const ops = about.attempts === undefined ? own : answered(own)
    // Around what fails the first time there is something to be kept and something to be done again.
    if (about.attempts && !about.fails) ops.splice(random.below(ops.length + 1), 0, once(id))
    this.#nodes[id] = {
      // Of what a node that fails showed and changed, that is kept which some commit came after: which it is depends on who is faster.
      ops: isAgent ? [] : about.fails === undefined ? ops : lasting(ops),
      isBeside,
      ...about,
      ...(isAgent
        ? { agent: random.pick(['text', 'broken', 'tools'] as const) }
        : kind < 2 && { shows: kind === 0 ? 'message' : 'structured' }),
    }
    return id
  }

  #op(name: string, node: string, isBeside: boolean): Op {
    const random = this.#random
    switch (random.below(9)) {
      case 0:
        return random.below(3) > 0 ? this.#hook(name) : { op: 'step', key: name, fails: 'always' }
      case 1:
        return { op: 'state', key: random.pick([node, 'shared']), isShared: isBeside }
      case 2:
        return { op: 'show', stream: random.pick([node, name]), isWhole: random.below(3) === 0 }
      case 3:
        return random.below(2) === 0 ? { op: 'count' } : { op: 'context' }
      case 4:
      case 5:
        return { op: 'together', strands: this.#strands(name) }
      default:
        return this.#hook(name)
    }
  }

  /** A hook that takes its time; with an id where it needs one, and often the same as another of its node. */
  #hook(name: string, isNamed = this.#random.below(2) === 0): Op {
    const random = this.#random
    const id = isNamed ? { id: name } : {}
    switch (random.below(3)) {
      case 0:
        return { op: 'step', key: isNamed ? name : 'same' }
      case 1:
        return { op: 'reason', ask: random.pick(ASKINGS), ...id }
      default:
        return { op: 'question', ask: random.pick(QUESTIONS), ...id }
    }
  }

  #strands(name: string): readonly (readonly Op[])[] {
    const random = this.#random
    return Array.from({ length: 2 }, (_, strand) => {
      const own = `${name}.${strand}`
      const hooks = Array.from({ length: random.between(1, 2) }, (_, nth) => this.#hook(`${own}.${nth}`, true))
      const between: Op[] = random.below(2) === 0 ? [{ op: 'show', stream: own, isWhole: false }] : []
      return [...hooks.slice(0, 1), ...between, ...hooks.slice(1)]
    })
  }
}

const answered = (ops: readonly Op[]): Op[] =>
  ops.map(op => {
    if (op.op === 'together') return { ...op, strands: op.strands.map(answered) }
    return op.op === 'question' && op.ask === 'late' ? { ...op, ask: 'text' } : op
  })

const lasting = (ops: readonly Op[]): readonly Op[] =>
  ops
    .filter(({ op }) => op !== 'show' && op !== 'state')
    .map(op => (op.op === 'together' ? { ...op, strands: op.strands.map(lasting) } : op))

const once = (id: string): Op => ({ op: 'step', key: `${id}once`, fails: 'once' })

/** All that a node does, whether one after the other or side by side. */
export const opsOf = (ops: readonly Op[]): readonly Op[] =>
  ops.flatMap(op => (op.op === 'together' ? op.strands.flatMap(opsOf) : [op]))
