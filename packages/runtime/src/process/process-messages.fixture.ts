// What a test and its processes say to each other.

import type { Given } from '../crash/crowd.fixture.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { ProgramName } from './played-programs.fixture.ts'

/** Which store a process opens, as it can be told to it. */
export type StoreSpec =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'redis'; readonly url: string; readonly prefix: string; readonly timeout: number }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string; readonly timeout: number }

/** The calls of a store that change something: before and after each of them a process can die with another outcome. */
export const POINTS = ['append', 'claim', 'release', 'putSnapshot', 'putBlob'] as const

export type Point = (typeof POINTS)[number]

/** A moment in the life of a process: just before or just after it has such a call made for the nth time. */
export interface Moment {
  readonly of: readonly Point[]
  readonly n: number
  readonly when: 'before' | 'after'
  /** What it does then, when it has told: stand still for good, sleep until it is woken, or nothing. */
  readonly does: 'halt' | 'sleep' | 'go on'
}

export interface Opening {
  readonly store: StoreSpec
  /** Under which name it writes to the ledger, and to which. */
  readonly tag: string
  readonly ledger: string
  readonly leaseMs: number
  readonly paceMs: number
  readonly program: ProgramName
  /** Whether it has the program. */
  readonly isAble: boolean
  /** How it answers for people and clients, where it does that and does not drive. */
  readonly crowd?: { readonly when: 'asked' | 'paused' | 'told'; readonly errs: boolean }
  readonly moment?: Moment
}

/** The file that wakes a process that sleeps, when it is made. */
export const alarmOf = ({ ledger, tag }: Pick<Opening, 'ledger' | 'tag'>): string => `${ledger}.${tag}.alarm`

export type Order = ({ readonly do: 'open' } & Opening) | { readonly do: 'answer' } | { readonly do: 'close' }

export type Told =
  | { readonly kind: 'reached'; readonly point: Point; readonly n: number }
  /** It has slept, and was woken. */
  | { readonly kind: 'awake' }
  /** The store did not answer. */
  | { readonly kind: 'trouble'; readonly call: string; readonly why: string }
  | { readonly kind: 'logged'; readonly level: keyof Logger; readonly message: string; readonly cause: string }
  /** What it has answered, and what was wrong about that. */
  | { readonly kind: 'given'; readonly given: readonly Given[]; readonly problems: readonly string[] }
  | { readonly kind: 'closed' }

/** A logger that tells all: some attempts fail by design, but after a failure every word may be the one that explains it. */
export function loggerOf(say: (told: Told) => void): Logger {
  const to =
    (level: keyof Logger): Logger['warn'] =>
    (message, { cause }) =>
      say({ kind: 'logged', level, message, cause: cause === undefined ? '' : String(cause) })
  return { warn: to('warn'), error: to('error') }
}
