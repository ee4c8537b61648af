// What goes wrong in a schedule, and when. A point is whatever the world outside can see of a driver: a call of the store that it makes, a call of a model or tool that
// begins or ends. Between two points nothing happens that anybody could tell, so a death at each point is a death at each instant.

import { Random } from '../../../../scripts/faults/random.ts'

/** What may happen at a point. */
export type Fault =
  /** The process dies, and the store never hears of the call; or has done it; or hears of it when somebody else may have the log. */
  | 'death-before'
  | 'death-after'
  | 'death-late'
  /** The process lives, and is told that the store cannot be reached: the call was lost on the way, or its answer was, or it is still under way. */
  | 'request-lost'
  | 'reply-lost'
  | 'delivered-late'
  /** The process stands still for longer than its lease, with the call before it or behind it; and another starts. */
  | 'freeze-before'
  | 'freeze-after'
  /** The process cannot reach the store for a while. */
  | 'cut-off'
  /** Another driver starts. */
  | 'rival'
  /** The process is told to hand over, and another starts. */
  | 'leave'
  /** Somebody asks the open run to stop. */
  | 'stop'
  /** All is answered that waits. */
  | 'answer'

/** How people and clients answer. */
export interface CrowdPlan {
  /** As soon as they are asked; one at each pause; or when a fault says so or a process dies, and else at a pause. */
  readonly when: 'asked' | 'paused' | 'told'
  /** Whether they make mistakes on the way. */
  readonly errs: boolean
  /** By a process to which nothing happens, or by one that dies and stands still as others do. */
  readonly via: 'desk' | 'front'
}

export interface Plan {
  readonly seed: number
  /** What happens at which point, counted from 1. */
  readonly faults: readonly (readonly [point: number, fault: Fault])[]
  /** The time from token to token. */
  readonly paceMs: number
  /** Whether what is ready at the same time happens in any order, or in the order in which it was asked for. */
  readonly isShuffled: boolean
  /** Those who answer, in the program that has them. */
  readonly crowd?: CrowdPlan
}

/** The program as it is meant to be, with a model that says a word an append. */
export const UNDISTURBED: Plan = { seed: 0, faults: [], paceMs: 20, isShuffled: false }
/** And with one that says all in one breath. */
export const FAST: Plan = { ...UNDISTURBED, paceMs: 0 }

/** A plan for each point of a run, with these faults from there on. */
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
/** One schedule in so many has a stop. */
const STOPS = 5
const PACES = [0, 0, 4, 20]

/** How many points a schedule may have something happen at: about as many as there are, of a slow model and of a fast one. */
const POINTS = { slow: 320, fast: 160 }

/** A plan by chance. */
export function planOf(seed: number): Plan {
  const random = new Random(seed)
  const paceMs = random.pick(PACES)
  const at = () => random.between(1, paceMs === 20 ? POINTS.slow : POINTS.fast)
  const faults = Array.from({ length: random.between(1, 4) }, () => [at(), random.pick(FAULTS)] as const)
  if (random.below(STOPS) === 0) faults.push([at(), 'stop'])
  return { seed, faults: faults.sort(([one], [other]) => one - other), paceMs, isShuffled: true }
}

/** Two deaths, of a process and of who takes its place. */
export function deathsOf(seed: number): Plan {
  const random = new Random(seed)
  const death = (from: number) => [random.between(from, POINTS.slow), random.pick(DEATHS)] as const
  const first = death(1)
  return { ...UNDISTURBED, seed, faults: [first, death(first[0] + 1)] }
}

/** People who answer at once, and make no mistakes. */
export const PROMPT: CrowdPlan = { when: 'asked', errs: false, via: 'desk' }

/** How many points a schedule with people may have something happen at. */
const PEOPLE_POINTS = { slow: 300, fast: 180 }

/** A plan by chance, with people in it. */
export function peoplePlanOf(seed: number): Plan {
  const random = new Random(-seed)
  const { faults: _, ...plan } = planOf(seed)
  const crowd: CrowdPlan = {
    when: random.pick(['asked', 'paused', 'told'] as const),
    errs: random.below(2) === 0,
    via: random.pick(['desk', 'front'] as const),
  }
  // A front has points of its own, and most of them where it makes mistakes.
  const times = crowd.via === 'desk' ? 1 : crowd.errs ? 3 : 1.3
  const most = Math.ceil((plan.paceMs === 20 ? PEOPLE_POINTS.slow : PEOPLE_POINTS.fast) * times)
  const faults = Array.from({ length: random.between(1, 4) }, () => faultOf(random, most))
  if (random.below(STOPS) === 0) faults.push([random.between(1, most), 'stop'])
  if (crowd.when === 'told') faults.push([random.between(1, most), 'answer'])
  return { ...plan, faults: faults.sort(([one], [other]) => one - other), crowd }
}

const faultOf = (random: Random, most: number): readonly [number, Fault] => [
  random.between(1, most),
  random.pick(FAULTS),
]

/** A plan by chance for a program that has so many points. */
export function flowPlanOf(seed: number, points: number): Plan {
  const { crowd, ...plan } = peoplePlanOf(seed)
  const random = new Random(seed)
  const place = (point: number) => 1 + (point % points)
  const faults = plan.faults.map(([point, fault]) => [place(point), fault] as const)
  if (crowd?.when === 'told') faults.push([random.between(1, points), 'answer'])
  return { ...plan, faults: faults.sort(([one], [other]) => one - other), crowd: { ...PROMPT, ...crowd } }
}
