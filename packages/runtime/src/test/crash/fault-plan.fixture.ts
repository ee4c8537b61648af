// Faults of a schedule. A point is an event of a driver that is visible outside: a store call, or the start or end of a
// model or tool call. Nothing visible happens between two points, so a crash at each point covers every moment.

import { Random } from '../../../../../scripts/faults/random.ts'

/** A fault at a point. */
export type Fault =
  /**
   * The process dies: the store never gets the call, or has executed it, or executes it when another process may have
   * the log.
   */
  | 'death-before'
  | 'death-after'
  | 'death-late'
  /** The process gets an unavailable error: the call is lost, or its reply is, or it is still in flight. */
  | 'request-lost'
  | 'reply-lost'
  | 'delivered-late'
  /** The process freezes for longer than its lease, before or after the call, and another one starts. */
  | 'freeze-before'
  | 'freeze-after'
  /** The store is unavailable to the process for a while. */
  | 'cut-off'
  /** Another driver starts. */
  | 'rival'
  /** The process hands over, and another one starts. */
  | 'leave'
  /** The open run is stopped. */
  | 'stop'
  /** All pendings are answered. */
  | 'answer'

/** How people and clients answer. */
export interface AnsweringPlan {
  /** As soon as they are asked; one at each pause; or on a fault or a death, and otherwise at a pause. */
  readonly when: 'asked' | 'paused' | 'on-fault'
  /** Whether they make mistakes. */
  readonly makesMistakes: boolean
  /** The process that submits the answers: one without faults, or one with faults. */
  readonly via: 'reliable' | 'faulty'
}

export interface Plan {
  readonly seed: number
  /** Faults by point, starting at 1. */
  readonly faults: readonly (readonly [point: number, fault: Fault])[]
  /** Time between tokens, in ms. */
  readonly paceMs: number
  /** Whether events that are ready at the same time happen in random order. */
  readonly isShuffled: boolean
  /** How people and clients answer, in a program with pendings. */
  readonly clients?: AnsweringPlan
}

/** No faults, with a model that writes one token per append. */
export const UNDISTURBED: Plan = { seed: 0, faults: [], paceMs: 20, isShuffled: false }
/** No faults, with a model that writes everything at once. */
export const FAST: Plan = { ...UNDISTURBED, paceMs: 0 }

/** One plan per point, with these faults from that point on. */
export const atEach = (points: number, plan: Plan, ...faults: readonly Fault[]): Plan[] =>
  Array.from({ length: points }, (_, index) => ({
    ...plan,
    seed: index + 1,
    faults: faults.map((fault, later) => [index + 1 + later, fault] as const),
  }))

const FAULTS: readonly Fault[] = [
  ...(['death-before', 'death-after', 'death-late', 'death-before', 'death-after'] as const),
  ...(['request-lost', 'reply-lost', 'delivered-late', 'cut-off'] as const),
  ...(['freeze-before', 'freeze-after', 'rival', 'leave'] as const),
]
const DEATHS = ['death-before', 'death-after', 'death-late'] as const
/** One in this many schedules has a stop. */
const STOPS = 5
const PACES = [0, 0, 4, 20]

/** Approximate number of points of a run, with a slow and a fast model. */
const POINTS = { slow: 320, fast: 160 }

/** A random plan. */
export function planOf(seed: number): Plan {
  const random = new Random(seed)
  const paceMs = random.pick(PACES)
  const at = () => random.between(1, paceMs === 20 ? POINTS.slow : POINTS.fast)
  const faults = Array.from({ length: random.between(1, 4) }, () => [at(), random.pick(FAULTS)] as const)
  if (random.below(STOPS) === 0) faults.push([at(), 'stop'])
  return { seed, faults: faults.sort(([a], [b]) => a - b), paceMs, isShuffled: true }
}

/** Two crashes: of a process and of its successor. */
export function deathsOf(seed: number): Plan {
  const random = new Random(seed)
  const death = (from: number) => [random.between(from, POINTS.slow), random.pick(DEATHS)] as const
  const first = death(1)
  return { ...UNDISTURBED, seed, faults: [first, death(first[0] + 1)] }
}

/** Answers immediately and without mistakes. */
export const PROMPT: AnsweringPlan = { when: 'asked', makesMistakes: false, via: 'reliable' }

/** Approximate number of points of a run with pendings. */
const APPROVALS_POINTS = { slow: 300, fast: 180 }

/** A random plan for a program with pendings. */
export function approvalsPlanOf(seed: number): Plan {
  const random = new Random(-seed)
  const { faults: _, ...plan } = planOf(seed)
  const clients: AnsweringPlan = {
    when: random.pick(['asked', 'paused', 'on-fault'] as const),
    makesMistakes: random.below(2) === 0,
    via: random.pick(['reliable', 'faulty'] as const),
  }
  // The answering process has points of its own, and more with mistakes.
  const times = clients.via === 'reliable' ? 1 : clients.makesMistakes ? 3 : 1.3
  const max = Math.ceil((plan.paceMs === 20 ? APPROVALS_POINTS.slow : APPROVALS_POINTS.fast) * times)
  const faults = Array.from({ length: random.between(1, 4) }, () => faultOf(random, max))
  if (random.below(STOPS) === 0) faults.push([random.between(1, max), 'stop'])
  if (clients.when === 'on-fault') faults.push([random.between(1, max), 'answer'])
  return { ...plan, faults: faults.sort(([a], [b]) => a - b), clients }
}

const faultOf = (random: Random, max: number): readonly [number, Fault] => [random.between(1, max), random.pick(FAULTS)]

/** A random plan for a program with this many points. */
export function flowPlanOf(seed: number, points: number): Plan {
  const { clients, ...plan } = approvalsPlanOf(seed)
  const random = new Random(seed)
  const pointIn = (point: number) => 1 + (point % points)
  const faults = plan.faults.map(([point, fault]) => [pointIn(point), fault] as const)
  if (clients?.when === 'on-fault') faults.push([random.between(1, points), 'answer'])
  return { ...plan, faults: faults.sort(([a], [b]) => a - b), clients: { ...PROMPT, ...clients } }
}
