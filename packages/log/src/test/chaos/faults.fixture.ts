import type { Random } from './random.fixture.ts'

/** The outcome of one call to the store. */
export type CallOutcome =
  | 'answered'
  | 'request-lost'
  | 'reply-lost'
  | 'delivered-late'
  | 'delivered-twice'
  | 'connection-cut'
  | 'stalled'
  | 'frozen'
  | 'death-before'
  | 'death-after'

/** All kinds that are counted as a fault. */
export const FAULTS: readonly (CallOutcome | 'clock-jump')[] = [
  'request-lost',
  'reply-lost',
  'delivered-late',
  'delivered-twice',
  'connection-cut',
  'stalled',
  'frozen',
  'death-before',
  'death-after',
  'clock-jump',
]

/** Probabilities of the faults. */
export class Faults {
  readonly #weights: readonly (readonly [number, CallOutcome])[]
  /** How often the processes pause, and the longest pause. */
  readonly pause: number
  readonly pauseMs: number
  /** How often the clock of the store jumps, forward or back. */
  readonly jump: number

  private constructor(rates: Partial<Record<CallOutcome | 'pause' | 'jump', number>>) {
    const { pause = 0, jump = 0, ...outcomes } = rates
    const faultRates = Object.entries(outcomes) as [CallOutcome, number][]
    const answeredRate = faultRates.reduce((remaining, [, rate]) => remaining - rate, 1)
    this.#weights = [[answeredRate, 'answered'], ...faultRates.map(([outcome, rate]) => [rate, outcome] as const)]
    this.pause = pause
    this.pauseMs = 400
    this.jump = jump
  }

  static readonly none = new Faults({})

  /** The faults of one schedule. Some schedules have many of one kind, a few have many of all. */
  static drawn(random: Random): Faults {
    const rate = (max: number) => random.next() ** 2 * max
    return new Faults({
      'request-lost': rate(0.1),
      'reply-lost': rate(0.15),
      'delivered-late': rate(0.06),
      'delivered-twice': rate(0.1),
      'connection-cut': rate(0.03),
      stalled: rate(0.06),
      frozen: rate(0.01),
      'death-before': rate(0.012),
      'death-after': rate(0.012),
      pause: rate(0.06),
      jump: rate(0.02),
    })
  }

  draw(random: Random): CallOutcome {
    return random.weighted(this.#weights)
  }
}
