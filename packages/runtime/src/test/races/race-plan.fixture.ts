// The events of a race: answers, claims, stops and other requests, their timing, and faults of the driver.

import { Random } from '../../../../../scripts/faults/random.ts'
import type { Fault } from '../crash/fault-plan.fixture.ts'

/** The programs: what waits, and what runs next to it. */
const KINDS = ['approval', 'client', 'approved-client', 'pair', 'child', 'children'] as const
export type RaceKind = (typeof KINDS)[number]

/** The action of a guest: approve or deny, claim, stop, or request another run and cancel it. */
type GuestVerb = 'yes' | 'no' | 'claim' | 'stop' | 'abort' | 'interrupt' | 'undo'

/** When a guest starts: some time after an entry of a type, or after the deadline of its pending. */
type StartCondition =
  | { readonly on: string; readonly afterMs: number }
  | { readonly on: 'deadline'; readonly afterMs: number }

export interface GuestAction {
  readonly verb: GuestVerb
  readonly start: StartCondition
  /** Index of the waiting call. */
  readonly call: number
  /** For a call with an approval and a result: which of the two. */
  readonly isResult: boolean
}

export interface Plan {
  readonly seed: number
  readonly kind: RaceKind
  /** Timeout of an answer, in ms. @default no timeout */
  readonly timeoutMs: number | undefined
  /** Duration of each operation of a tool, in ms. */
  readonly paceMs: number
  readonly actions: readonly GuestAction[]
  readonly faults: readonly (readonly [point: number, fault: Fault])[]
}

const CUES = [
  'run-started',
  'step-finish',
  'run-paused',
  'run-paused',
  'run-resumed',
  'tool-approval-response',
] as const
const REQUESTS = ['tool-approval-request', 'tool-input-available'] as const
const DELAYS = [0, 0, 1, 3, 8, 20, 60]
const TIMEOUTS = [1, 5, 15, 40, 90, 400]
const FAULTS: readonly Fault[] = [
  ...(['death-before', 'death-after', 'death-late', 'request-lost', 'reply-lost', 'delivered-late'] as const),
  ...(['freeze-before', 'freeze-after', 'cut-off', 'rival', 'leave', 'leave'] as const),
]
/** Approximate number of points of a schedule. */
const POINTS = 90

/** A random plan. */
export function planOf(seed: number): Plan {
  const random = new Random(seed)
  const kind = random.pick(KINDS)
  const hasChance = (percent: number) => random.below(100) < percent
  const timeoutMs = hasChance(75) ? random.pick(TIMEOUTS) : undefined
  const startOf = (): StartCondition => {
    const dice = random.below(10)
    if (timeoutMs !== undefined && dice < 4) return { on: 'deadline', afterMs: random.between(-6, 4) }
    return { on: random.pick(dice < 7 ? REQUESTS : CUES), afterMs: random.pick(DELAYS) }
  }
  const calls = kind === 'children' ? 2 : 1
  const actionOf = (verb: GuestVerb, isResult = false): GuestAction => ({
    verb,
    start: startOf(),
    call: random.below(calls),
    isResult,
  })
  const actions: GuestAction[] = []
  const hasBoth = kind === 'approved-client'
  const isClient = kind === 'client'
  for (let guests = random.between(1, calls + 1); guests > 0; guests--) {
    actions.push(actionOf('yes', isClient), actionOf('no', isClient))
    if (hasBoth) actions.push(actionOf('yes', true), actionOf('no', true))
  }
  if (hasBoth || isClient)
    for (let claims = random.below(3); claims > 0; claims--) actions.push(actionOf('claim', true))
  if (hasChance(35)) actions.push(actionOf(random.pick(['stop', 'stop', 'abort'])))
  if (hasChance(10)) actions.push(actionOf('abort'))
  if (hasChance(25)) {
    actions.push(actionOf('interrupt'))
    if (hasChance(40)) actions.push(actionOf('undo'))
  }
  const faults = Array.from(
    { length: random.pick([0, 0, 1, 1, 2]) },
    () => [random.between(1, POINTS), random.pick(FAULTS)] as const,
  )
  return {
    seed,
    kind,
    timeoutMs,
    paceMs: random.pick([0, 2, 15]),
    actions,
    faults: faults.sort(([a], [b]) => a - b),
  }
}

/** A plan in which everything is approved as soon as it is requested, while others still run. */
export function promptPlanOf(seed: number): Plan {
  const random = new Random(seed)
  const start = (): StartCondition => ({ on: 'tool-approval-request', afterMs: random.below(6) })
  const actions = [0, 1, 1].map((call): GuestAction => ({ verb: 'yes', start: start(), call, isResult: false }))
  return { seed, kind: 'children', timeoutMs: undefined, paceMs: random.pick([0, 2]), actions, faults: [] }
}
